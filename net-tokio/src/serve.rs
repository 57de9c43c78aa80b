//! The server: accepts connections, owns the phases of a life, joins everything at its end.
//!
//! A clean stop goes: no new connections, idle ones close; those with a request in the node have
//! [`STOP_GRACE`] to see its answer; then the node writes its last checkpoint; then all is over.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use verdict_core::config::BrokerConfig;
use verdict_core::io::ConnId;
use verdict_core::node::Node;

use crate::conn::{self, Shared};
use crate::driven::Driven;
use crate::files::Files;
use crate::lanes::Lanes;
use crate::node_loop::{self, NodeMachine, Notice, Urgent};
use crate::rt::{self, Worker};
use crate::settings::Settings;

/// How long requests that are in the node when a stop begins may take to be answered.
pub const STOP_GRACE: Duration = Duration::from_secs(2);
/// Rest after a failed accept, which is mostly a lack of file descriptors.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// How far a broker's life has come. Only ever goes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It serves.
    Run,
    /// It is to stop cleanly.
    Stop,
    /// It is to drop everything, as if its process had been killed.
    Kill,
}

/// Returns when the phase is `least` or later; never when it can no longer come.
pub(crate) async fn reached(phase: &mut watch::Receiver<Phase>, least: Phase) {
    if phase.wait_for(|phase| *phase >= least).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// What a server gets from the world it runs in.
pub struct Env {
    /// Its data directory.
    pub files: Arc<dyn Files>,
    /// 128 bits that differ in each life.
    pub entropy: u128,
    /// Ends its life.
    pub phase: watch::Receiver<Phase>,
    /// Told the address once it serves.
    pub on_ready: Box<dyn FnOnce(SocketAddr) + Send>,
}

/// Why a server could not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken.
    #[error("the address {0} is in use by another process")]
    AddressInUse(String),
    /// The address cannot be listened on for another reason.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: String,
        /// What the system said.
        error: io::Error,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

/// Serves until the phase says otherwise.
///
/// # Errors
/// When it cannot listen, or start its threads.
pub async fn serve(settings: Settings, env: Env) -> Result<(), ServeError> {
    let listener = listen(&settings.listen).await?;
    let local = listener.local_addr().map_err(|error| listen_error(&settings.listen, error))?;
    let broker = settings.broker_config(local, env.entropy);
    let mut life = Life::start(settings.max_idle(), broker, &env)?;
    let mut phase = env.phase.clone();
    let mut on_ready = Some(env.on_ready);
    loop {
        tokio::select! {
            biased;
            () = reached(&mut phase, Phase::Stop) => break,
            notice = life.notices.recv() => match notice {
                Some(Notice::Ready) => {
                    if let Some(on_ready) = on_ready.take() {
                        on_ready(local);
                    }
                }
                // Nobody asked the node to stop, so it is over only if it was killed.
                Some(Notice::Stopped) | None => break,
            },
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => life.welcome(stream, peer),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_BACKOFF).await;
                }
            },
        }
    }
    drop(listener);
    life.end(phase).await;
    Ok(())
}

async fn listen(address: &str) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|error| listen_error(address, error))
}

fn listen_error(address: &str, error: io::Error) -> ServeError {
    match error.kind() {
        io::ErrorKind::AddrInUse => ServeError::AddressInUse(address.to_owned()),
        _ => ServeError::Listen { address: address.to_owned(), error },
    }
}

/// One life of a broker: the node and its owner, its lanes, its connections.
struct Life {
    shared: Arc<Shared>,
    node: Arc<Driven<NodeMachine>>,
    notices: mpsc::UnboundedReceiver<Notice>,
    workers: Vec<Worker>,
    /// What connections obey: the life's phase, and a cut once the node has stopped.
    connections: watch::Sender<Phase>,
    /// Each connection holds a sender; the receiver ends with the last of them.
    alive: (mpsc::Sender<()>, mpsc::Receiver<()>),
    last_conn: u64,
}

impl Life {
    fn start(
        max_idle: Option<Duration>,
        broker: BrokerConfig,
        env: &Env,
    ) -> Result<Self, ServeError> {
        // Beyond them connections wait, and so do their peers.
        let queued_max = usize::try_from(broker.queued_max_requests).unwrap_or(1);
        let node = Arc::new(Driven::new(queued_max));
        let (notice, notices) = mpsc::unbounded_channel();
        let (lanes, mut workers) =
            Lanes::start(&env.files, &node, &env.phase).map_err(ServeError::Thread)?;
        let shared = Arc::new(Shared::new(max_idle, &broker, Arc::clone(&node)));
        let machine = NodeMachine::new(Node::new(broker), lanes, notice, env.phase.clone());
        let owner = node_loop::own(machine, Arc::clone(&node));
        workers.push(rt::dedicated("node", owner).map_err(ServeError::Thread)?);
        let (connections, _) = watch::channel(Phase::Run);
        let alive = mpsc::channel(1);
        Ok(Self { shared, node, notices, workers, connections, alive, last_conn: 0 })
    }

    fn welcome(&mut self, stream: TcpStream, peer: SocketAddr) {
        let place = match self.shared.place(peer.ip()) {
            Ok(place) => place,
            Err(reason) => {
                tracing::warn!(%peer, reason, "refused a connection");
                return;
            }
        };
        self.last_conn += 1;
        let id = ConnId(self.last_conn);
        let shared = Arc::clone(&self.shared);
        let phase = self.connections.subscribe();
        let alive = self.alive.0.clone();
        tokio::spawn(async move {
            conn::serve(shared, id, stream, peer, phase).await;
            drop(place);
            drop(alive);
        });
    }

    /// Ends the life: cleanly when the phase is `Stop`, at once when it is `Kill`.
    async fn end(self, mut phase: watch::Receiver<Phase>) {
        let Self { shared, node, mut notices, workers, connections, alive, .. } = self;
        drop(shared);
        let (own, mut others) = alive;
        drop(own);
        let clean = async {
            connections.send_replace(Phase::Stop);
            tokio::time::timeout(STOP_GRACE, others.recv()).await.unwrap_or_else(|_| {
                tracing::info!("requests are left unanswered by the stop");
                None
            });
            node.urge_owner(Urgent::Stop).unwrap_or(());
            while let Some(notice) = notices.recv().await {
                if notice == Notice::Stopped {
                    break;
                }
            }
        };
        tokio::select! {
            biased;
            () = reached(&mut phase, Phase::Kill) => {}
            () = clean => {}
        }
        connections.send_replace(Phase::Kill);
        // `Stopped` or the kill has ended the node's owner. Its lanes end with the node.
        for worker in workers {
            worker.ended().await;
        }
        others.recv().await;
    }
}
