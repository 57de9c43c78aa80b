//! A broker inside a test: real sockets, real files, gone with its value.

use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::watch;

use crate::cli;
use crate::files::{DataDir, DiskFiles};
use crate::serve::{Env, Phase, serve};
use crate::settings::Settings;

/// How long a broker may take to serve.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// A broker on `127.0.0.1` with a temporary data directory, both gone when it is dropped.
///
/// ```no_run
/// let mut broker = verdict_net_tokio::test_broker::TestBroker::start();
/// println!("{}", broker.bootstrap());
/// broker.crash(); // … and it serves again, on the same data and address.
/// ```
pub struct TestBroker {
    settings: Settings,
    data: TempDir,
    address: SocketAddr,
    life: Option<Life>,
}

struct Life {
    phase: watch::Sender<Phase>,
    thread: JoinHandle<()>,
}

impl TestBroker {
    /// Starts a broker with the default settings.
    ///
    /// # Panics
    /// When it cannot serve: a test has no use for the error.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a broker with these settings, Kafka's names and values.
    ///
    /// # Panics
    /// When a setting is refused or it cannot serve.
    #[must_use]
    pub fn start_with(properties: &[(&str, &str)]) -> Self {
        let mut settings = Settings { listen: "127.0.0.1:0".to_owned(), ..Settings::default() };
        for (key, value) in properties {
            settings.set(key, value).expect("a test knows its settings");
        }
        settings.finish().expect("a test knows its settings");
        let data = tempfile::tempdir().expect("a temporary directory can be made");
        let (life, address) = Life::start(settings.clone(), &data);
        // Later lives listen where clients already look.
        settings.listen = address.to_string();
        Self { settings, data, address, life: Some(life) }
    }

    /// Where it listens, as clients want it.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        self.address.to_string()
    }

    /// Its data directory.
    #[must_use]
    pub fn data(&self) -> &std::path::Path {
        self.data.path()
    }

    /// Stops it cleanly and starts it again.
    ///
    /// # Panics
    /// When it does not serve again.
    pub fn restart(&mut self) {
        self.next_life(Phase::Stop, |_| {});
    }

    /// As [`restart`](Self::restart), and does something to its data directory while it is down.
    ///
    /// # Panics
    /// When it does not serve again.
    pub fn restart_after(&mut self, down: impl FnOnce(&std::path::Path)) {
        self.next_life(Phase::Stop, down);
    }

    /// Drops everything it was doing, in the node, on its way to disk and to clients, and starts
    /// it again on what is in its files. The system's page cache survives, as with `kill -9`.
    ///
    /// # Panics
    /// When it does not serve again.
    pub fn crash(&mut self) {
        self.next_life(Phase::Kill, |_| {});
    }

    /// As [`crash`](Self::crash), and does something to its data directory while it is down.
    ///
    /// # Panics
    /// When it does not serve again.
    pub fn crash_after(&mut self, down: impl FnOnce(&std::path::Path)) {
        self.next_life(Phase::Kill, down);
    }

    fn next_life(&mut self, end: Phase, down: impl FnOnce(&std::path::Path)) {
        self.end(end);
        down(self.data.path());
        let (life, address) = Life::start(self.settings.clone(), &self.data);
        assert_eq!(address, self.address, "a broker comes back where it was");
        self.life = Some(life);
    }

    fn end(&mut self, phase: Phase) {
        if let Some(life) = self.life.take() {
            life.phase.send_replace(phase);
            life.thread.join().expect("the broker's thread does not panic");
        }
    }
}

impl Drop for TestBroker {
    fn drop(&mut self) {
        self.end(Phase::Kill);
    }
}

impl Life {
    fn start(settings: Settings, data: &TempDir) -> (Self, SocketAddr) {
        let files = DiskFiles::new(DataDir::open(data.path()).expect("the directory is ours"));
        let (phase, phases) = watch::channel(Phase::Run);
        let (ready, is_ready) = mpsc::channel();
        let env = Env {
            files: Arc::new(files),
            entropy: cli::entropy().expect("the system has entropy"),
            phase: phases,
            on_ready: Box::new(move |address| ready.send(address).unwrap_or(())),
        };
        // A thread of its own, so that a test may be async or not.
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("a runtime can be made");
            runtime.block_on(serve(settings, env)).expect("the broker serves");
        });
        let address = is_ready.recv_timeout(READY_TIMEOUT).expect("the broker serves in time");
        (Self { phase, thread }, address)
    }
}
