//! The `verdict` process: what it prints, how it stops, and how it says why it cannot start.
#![cfg(not(madsim))]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

struct Broker {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// The line it prints when it serves.
    line: String,
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.child.kill().unwrap_or(());
        self.child.wait().map(drop).unwrap_or(());
    }
}

fn verdict(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_verdict"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn serving(args: &[&str]) -> Broker {
    let mut child = verdict(args).spawn().expect("the broker runs");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    Broker { child, stdout, line }
}

fn refused(args: &[&str], code: i32) -> String {
    let Output { status, stderr, stdout } = verdict(args).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    assert_eq!(status.code(), Some(code), "{stderr}");
    assert!(stdout.is_empty());
    stderr
}

fn signal(broker: &Broker, name: &str) {
    let pid = broker.child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &pid]).status().expect("kill").success());
}

#[test]
fn it_says_where_it_serves_and_stops_cleanly() {
    for name in ["INT", "TERM"] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let data = dir.path().join("data");
        let data = data.to_str().expect("UTF-8");
        let mut broker = serving(&["--listen", "127.0.0.1:0", "--data", data]);
        assert!(broker.line.starts_with("verdict listens on 127.0.0.1:"), "{}", broker.line);
        assert!(broker.line.contains(data), "{}", broker.line);
        assert!(!broker.line.contains(":0 "), "the real port: {}", broker.line);
        assert!(broker.line.ends_with("for good, durability fsync\n"), "{}", broker.line);
        signal(&broker, name);
        let mut rest = String::new();
        broker.stdout.read_to_string(&mut rest).expect("readable");
        assert_eq!(rest, "", "one line is all");
        assert_eq!(broker.child.wait().expect("ended").code(), Some(0), "SIG{name}");
    }
}

#[test]
fn a_second_signal_stops_at_once() {
    let mut broker = serving(&["--listen", "127.0.0.1:0", "--ephemeral"]);
    let address = broker.line.split_whitespace().nth(3).expect("an address").to_owned();
    // A peer in the middle of a request, which a clean stop gives two seconds.
    let mut peer = TcpStream::connect(address).expect("connected");
    peer.write_all(&[0, 0, 0, 9, 1]).expect("written");
    // Until the broker has seen it, a clean stop may be over before the second signal.
    #[expect(clippy::disallowed_methods, reason = "nothing tells when the broker has read")]
    std::thread::sleep(Duration::from_millis(300));
    signal(&broker, "INT");
    signal(&broker, "TERM");
    assert_eq!(broker.child.wait().expect("ended").code(), Some(130));
}

#[test]
fn an_ephemeral_broker_leaves_nothing() {
    let mut broker = serving(&["serve", "--listen", "127.0.0.1:0", "--ephemeral"]);
    assert!(broker.line.ends_with("until it stops, durability os\n"), "{}", broker.line);
    let place = broker.line.split_whitespace().find(|word| word.starts_with('/'));
    let place = std::path::PathBuf::from(place.expect("a path"));
    assert!(place.is_dir());
    signal(&broker, "TERM");
    assert_eq!(broker.child.wait().expect("ended").code(), Some(0));
    assert!(!place.exists());
}

#[test]
fn a_second_broker_on_the_same_data_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().to_str().expect("UTF-8");
    let args = ["--listen", "127.0.0.1:0", "--data", data];
    let _first = serving(&args);
    assert!(refused(&args, 4).contains("in use by another broker"));
}

#[test]
fn connections_leave_open_files_for_the_data() {
    let script = "ulimit -n 300 && exec \"$0\" --listen 127.0.0.1:0 --ephemeral";
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_verdict")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    let broker = Broker { child, stdout, line };
    let address = broker.line.split_whitespace().nth(3).expect("an address");
    let many: Vec<TcpStream> =
        (0..45).map(|_| TcpStream::connect(address).expect("connected")).collect();
    let refused =
        many.iter().rev().take(1).all(|mut stream| matches!(stream.read(&mut [0]), Ok(0)));
    assert!(refused, "44 of 300 files are for connections");
}

#[test]
fn a_taken_address_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    assert!(refused(&["--listen", &address, "--ephemeral"], 3).contains(&address));
}

#[test]
fn bad_settings_are_refused_with_file_line_and_key() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("server.properties");
    std::fs::write(&file, "# a comment\nmax.connections=lots\n").expect("written");
    let file = file.to_str().expect("UTF-8");
    let message = refused(&["--ephemeral", "--config", file], 2);
    assert!(message.contains("server.properties, line 2: max.connections"), "{message}");
    let message = refused(&["--ephemeral", "-o", "no.such.key=1"], 2);
    assert!(message.contains("no.such.key"), "{message}");
    refused(&["--ephemeral", "--config", "/no/such/file"], 2);
}

#[test]
fn a_properties_file_of_apache_kafka_says_where_to_listen() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("server.properties");
    let text = "process.roles=broker,controller\nnode.id=1\n\
        listeners=PLAINTEXT://localhost:0,CONTROLLER://localhost:0\n\
        controller.listener.names=CONTROLLER\nlog.dirs=/tmp/kraft-combined-logs\n";
    std::fs::write(&file, text).expect("written");
    let file = file.to_str().expect("UTF-8");
    let mut broker = serving(&["--ephemeral", "--config", file]);
    assert!(broker.line.starts_with("verdict listens on 127.0.0.1:"), "{}", broker.line);
    signal(&broker, "TERM");
    assert_eq!(broker.child.wait().expect("ended").code(), Some(0));
    let mut stderr = String::new();
    broker.child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("readable");
    assert!(stderr.contains("log.dirs"), "what has no effect is said: {stderr}");
    assert!(!stderr.contains("property listeners"), "{stderr}");
}

#[test]
fn options_go_after_the_verb_and_the_log_level_anywhere() {
    for args in [
        ["--log", "error", "serve", "--ephemeral", "--listen", "127.0.0.1:0"],
        ["serve", "--log", "error", "--ephemeral", "--listen", "127.0.0.1:0"],
    ] {
        assert!(serving(&args).line.starts_with("verdict listens"), "{args:?}");
    }
    refused(&["--ephemeral", "serve", "--listen", "127.0.0.1:0"], 2);
}
