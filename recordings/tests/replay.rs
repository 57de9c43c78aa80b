//! Every recording is replayed: on a bare node in virtual time, and over sockets.

use std::path::PathBuf;
use std::sync::Mutex;

use verdict_net_tokio::test_broker::TestBroker;
use verdict_recordings::format::Line;
use verdict_recordings::peer::{NodePeer, Peer, Restart, SocketPeer};
use verdict_recordings::{Recording, run};

/// Brokers at a time: they mostly wait.
const BROKERS: usize = 6;

fn files() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../scenarios/recordings");
    let entries = std::fs::read_dir(folder).expect("the recordings are there");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let mut files: Vec<(String, String)> = paths
        .map(|path| {
            assert_eq!(path.extension().and_then(|e| e.to_str()), Some("txt"), "{path:?}");
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("a readable file"))
        })
        .collect();
    files.sort();
    files
}

fn recordings() -> Vec<Recording> {
    let read = |(name, text): &(String, String)| Recording::parse(name, text);
    files().iter().map(|file| read(file).unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// Where a broker answers otherwise than the recording says.
fn differences(recording: &Recording, peer: &mut dyn Peer) -> Vec<String> {
    let heard = match run(recording, peer, "") {
        Ok(heard) => heard,
        Err(error) => return vec![error.to_string()],
    };
    let differing = heard.into_iter().filter_map(|heard| {
        let Line::Ask(ask) = &recording.lines[heard.line - 1] else { return None };
        let (question, expected) = (recording.lines[heard.line - 1].question(), ask.expected());
        let place = format!("{}.txt:{}", recording.name, heard.line);
        (expected != heard.answer)
            .then(|| format!("{place}: {question}\n  - {expected}\n  + {}", heard.answer))
    });
    differing.collect()
}

fn assert_none(differences: &[String]) {
    assert!(differences.is_empty(), "\n{}\n", differences.join("\n"));
}

#[test]
fn recordings_are_written_as_the_recorder_writes_them_and_say_what_they_show() {
    for (name, text) in files() {
        let recording = Recording::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(recording.to_string(), text, "{name}.txt");
        assert!(text.starts_with("# "), "{name}.txt: the first line says what it shows");
        for line in &recording.lines {
            let Line::Ask(ask) = line else { continue };
            let is_later = ask.words.iter().any(|word| word == "later");
            assert_eq!(ask.kafka.is_empty(), is_later, "{name}.txt: {}", line.question());
        }
    }
}

#[test]
fn a_bare_node_answers_as_recorded() {
    let all = recordings().into_iter().flat_map(|recording| {
        let mut peer = NodePeer::start(recording.settings()).expect("settings of ours");
        differences(&recording, &mut peer)
    });
    assert_none(&all.collect::<Vec<_>>());
}

#[test]
fn a_bare_node_answers_the_same_every_time() {
    for recording in recordings() {
        let hear = || {
            let mut peer = NodePeer::start(recording.settings()).expect("settings of ours");
            run(&recording, &mut peer, "")
        };
        assert_eq!(hear(), hear(), "{}", recording.name);
    }
}

fn over_a_socket(recording: &Recording) -> Vec<String> {
    let settings: Vec<(&str, &str)> = recording.settings().collect();
    let mut broker = TestBroker::start_with(&settings);
    let address = broker.bootstrap();
    let restart = |how| {
        match how {
            Restart::Clean => broker.restart(),
            Restart::Crash => broker.crash(),
        }
        Ok(())
    };
    let mut peer = SocketPeer::new(address, Some(Box::new(restart)));
    differences(recording, &mut peer)
}

#[test]
fn a_served_broker_answers_as_recorded() {
    let waiting = Mutex::new(recordings());
    let next = || waiting.lock().expect("no thread panics with it").pop();
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..BROKERS {
            scope.spawn(|| {
                while let Some(recording) = next() {
                    let differences = over_a_socket(&recording);
                    found.lock().expect("no thread panics with it").extend(differences);
                }
            });
        }
    });
    assert_none(&found.into_inner().expect("no thread panics with it"));
}
