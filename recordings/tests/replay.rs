//! Every recording is replayed: on a bare node in virtual time, and over sockets.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use verdict_net_tokio::test_broker::TestBroker;
use verdict_recordings::format::Line;
use verdict_recordings::peer::{NodePeer, Peer, Restart, Snapshots, SocketPeer};
use verdict_recordings::{Recording, run};

/// Brokers at a time: they mostly wait.
const BROKERS: usize = 6;
/// A step that is asked more often is left to the bare node.
const TIMES_MAX: u32 = 10_000;

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
    for recording in recordings().iter().filter(|recording| !takes_too_long(recording)) {
        let hear = || {
            let mut peer = NodePeer::start(recording.settings()).expect("settings of ours");
            run(recording, &mut peer, "")
        };
        assert_eq!(hear(), hear(), "{}", recording.name);
    }
}

/// Does to the snapshots below a folder what a recording says.
fn change(folder: &Path, snapshots: Snapshots) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            change(&path, snapshots);
        } else if path.extension().is_some_and(|extension| extension == "snapshot") {
            let file = std::fs::OpenOptions::new().write(true).open(&path).expect("a file of ours");
            let length = file.metadata().expect("a file of ours").len() as usize;
            match snapshots.length(length) {
                Some(length) => file.set_len(length as u64).expect("a file of ours"),
                None => std::fs::remove_file(&path).expect("a file of ours"),
            }
        }
    }
}

fn over_a_socket(recording: &Recording) -> Vec<String> {
    let settings: Vec<(&str, &str)> = recording.settings().collect();
    let mut broker = TestBroker::start_with(&settings);
    let address = broker.bootstrap();
    let restart = |how, snapshots| {
        let down = |data: &Path| change(data, snapshots);
        match how {
            Restart::Clean => broker.restart_after(down),
            Restart::Crash => broker.crash_after(down),
        }
        Ok(())
    };
    let mut peer = SocketPeer::new(address, Some(Box::new(restart)));
    differences(recording, &mut peer)
}

/// Whether a step is asked so often that a disk, which is waited for each time, takes minutes.
fn takes_too_long(recording: &Recording) -> bool {
    let times = |word: &String| word.strip_prefix("times=").and_then(|times| times.parse().ok());
    recording.lines.iter().any(|line| match line {
        Line::Ask(ask) => ask.words.iter().filter_map(times).any(|times: u32| times > TIMES_MAX),
        _ => false,
    })
}

#[test]
fn a_served_broker_answers_as_recorded() {
    let waiting: Vec<Recording> =
        recordings().into_iter().filter(|recording| !takes_too_long(recording)).collect();
    let waiting = Mutex::new(waiting);
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
