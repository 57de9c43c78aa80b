//! Answers over a real socket, from real files that are and are not what the node said.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use verdict_core::io::{FileOp, FileRun, Lane};

use super::*;
use crate::files::{DataDir, DiskFiles};

/// More than a socket takes at once.
const RUN_BYTES: usize = 12 << 20;
const LOG: &str = "t-0/00000000000000000000.log";
/// Where the run begins in the file.
const POSITION: usize = 1_000;
const HEAD: &[u8] = b"what goes before";
const TAIL: &[u8] = b"what is not written yet";

fn records() -> Vec<u8> {
    (0..RUN_BYTES).map(|at| (at / 7 % 251) as u8).collect()
}

/// A disk with a segment of `held` from [`POSITION`] on, and that segment.
fn disk(held: &[u8]) -> (TempDir, DiskFiles) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(dir.path().join("t-0")).expect("a folder");
    let contents = [&[0; POSITION], held].concat();
    fs::write(dir.path().join(LOG), contents).expect("a segment");
    let files = DiskFiles::new(DataDir::open(dir.path()).expect("a data directory"));
    (dir, files)
}

fn run() -> FileRun {
    FileRun { path: LOG.into(), position: POSITION as u64, length: RUN_BYTES as u64 }
}

/// An answer with one run between other bytes.
fn answer() -> FrameParts {
    let records = Bytes::from(records());
    let parts =
        [records.slice(..61), records.slice(61..RUN_BYTES / 2), records.slice(RUN_BYTES / 2..)];
    let mut all = vec![Bytes::from_static(HEAD)];
    all.extend(parts);
    all.push(Bytes::from_static(TAIL));
    FrameParts { parts: all, files_at: vec![HEAD.len()] }
}

/// What a peer gets.
async fn received(mut out: Outgoing) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("its address");
    let peer = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("accepted");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.expect("read to the end");
        all
    });
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let left = out.left();
    out.write_to(&mut stream).await.expect("written");
    assert_eq!((out.left(), out.gone), (0, left));
    drop(stream);
    peer.await.expect("no panic")
}

async fn received_after(files: &DiskFiles, before_sending: impl FnOnce()) -> Vec<u8> {
    let opened = vec![files.open(&run())];
    assert!(opened[0].is_some());
    before_sending();
    received(Outgoing::new(answer(), opened)).await
}

fn whole() -> Vec<u8> {
    [HEAD, &records(), TAIL].concat()
}

#[tokio::test]
async fn what_a_file_holds_goes_out_from_there() {
    let other: Vec<u8> = records().iter().map(|byte| !byte).collect();
    let (_dir, files) = disk(&other);
    // Never so in a broker: here it tells the file's bytes from the buffers'.
    let got = received_after(&files, || {}).await;
    assert!(got == [HEAD, &other, TAIL].concat());
}

#[tokio::test]
async fn an_answer_is_whole_whatever_becomes_of_its_file() {
    let cut = |dir: &Path, length: usize| {
        let file = fs::OpenOptions::new().write(true).open(dir.join(LOG)).expect("the segment");
        file.set_len(length as u64).expect("cut");
    };
    type Change<'a> = (&'a str, &'a dyn Fn(&Path));
    let changes: [Change<'_>; 6] = [
        ("nothing", &|_| {}),
        ("cut inside", &|dir| cut(dir, POSITION + RUN_BYTES / 3)),
        ("cut before its place", &|dir| cut(dir, 10)),
        ("longer", &|dir| cut(dir, POSITION + 2 * RUN_BYTES)),
        ("removed", &|dir| fs::remove_dir_all(dir.join("t-0")).expect("removed")),
        ("another of its name", &|dir| {
            fs::remove_file(dir.join(LOG)).expect("removed");
            fs::write(dir.join(LOG), vec![9; 2 * RUN_BYTES]).expect("made again");
        }),
    ];
    for (name, change) in changes {
        let (dir, files) = disk(&records());
        assert!(received_after(&files, || change(dir.path())).await == whole(), "{name}");
    }
}

#[tokio::test]
async fn an_answer_whose_file_cannot_be_opened_goes_out_from_memory() {
    let (dir, files) = disk(&records());
    fs::remove_file(dir.path().join(LOG)).expect("removed");
    let opened = vec![files.open(&run())];
    assert!(opened[0].is_none());
    assert!(received(Outgoing::new(answer(), opened)).await == whole());
    let elsewhere = FileRun { path: "../elsewhere".into(), ..run() };
    assert!(files.open(&elsewhere).is_none());
}

#[test]
fn files_that_wait_for_slow_peers_are_bounded() {
    let (_dir, files) = disk(b"");
    let opened: Vec<_> = std::iter::from_fn(|| files.open(&run())).take(100_000).collect();
    assert!(opened.len() < 1_000, "{}", opened.len());
    drop(opened);
    assert!(files.open(&run()).is_some());
}

#[test]
fn a_file_that_was_opened_for_sending_is_not_the_one_that_a_new_log_writes() {
    let (dir, files) = disk(b"old");
    let _opened = files.open(&run());
    let perform = |op| files.perform(op).expect("performed");
    perform(FileOp::RemoveFolder { folder: "t-0".into() });
    perform(FileOp::CreateFolder { folder: "t-0".into() });
    perform(FileOp::Write {
        path: LOG.into(),
        position: 0,
        data: vec![Bytes::from_static(b"new")],
        sync: false,
        lane: Lane::Data,
    });
    assert_eq!(fs::read(dir.path().join(LOG)).expect("the new segment"), b"new");
}
