//! What the disk promises and what it takes away.

use super::*;

fn write(path: &str, position: u64, data: &[u8], sync: bool) -> FileOp {
    let data = vec![Bytes::copy_from_slice(data)];
    FileOp::Write { path: path.into(), position, data, sync, lane: Lane::Data }
}

fn run(disk: &mut SimDisk, op: FileOp) -> FileResult {
    let as_of = disk.as_of(&op);
    disk.perform(0, &op, as_of, None, &Profile::dull(), &mut Source::dull())
}

fn read(disk: &mut SimDisk, path: &str) -> Option<Vec<u8>> {
    match run(disk, FileOp::Read { path: path.into(), position: 0, length: 1 << 20 }) {
        Ok(FileOutcome::Bytes(bytes)) => Some(bytes.to_vec()),
        _ => None,
    }
}

fn made(disk: &mut SimDisk, path: &str, data: &[u8]) {
    run(disk, write(path, 0, data, true)).expect("a disk without faults writes");
    run(disk, FileOp::SyncFolder { folder: "".into() }).expect("a disk without faults syncs");
}

#[test]
fn synced_bytes_of_a_synced_name_survive_a_crash() {
    let mut disk = SimDisk::default();
    made(&mut disk, "a", b"hello");
    disk.crash(&mut Source::dull());
    assert_eq!(read(&mut disk, "a").as_deref(), Some(&b"hello"[..]));
}

#[test]
fn unsynced_bytes_may_be_lost() {
    let mut disk = SimDisk::default();
    made(&mut disk, "a", b"hello");
    run(&mut disk, write("a", 0, b"HELLO, world", false)).expect("a disk without faults writes");
    disk.crash(&mut Source::dull());
    assert_eq!(read(&mut disk, "a").as_deref(), Some(&b"hello"[..]));
}

#[test]
fn unsynced_sectors_are_lost_in_any_subset() {
    let (mut only_second, mut torn) = (false, false);
    for seed in 0..200 {
        let mut disk = SimDisk::default();
        made(&mut disk, "a", &[0; 2 * file::SECTOR]);
        run(&mut disk, write("a", 0, &[1; 2 * file::SECTOR], false)).expect("writes");
        disk.crash(&mut Source::seeded(seed));
        let left = read(&mut disk, "a").expect("the name was durable");
        only_second |= left[0] == 0 && left[2 * file::SECTOR - 1] == 1;
        torn |= left[0] == 1 && left[file::SECTOR - 1] == 0;
    }
    assert!(only_second && torn);
}

#[test]
fn a_name_without_a_folder_sync_may_be_lost() {
    let mut disk = SimDisk::default();
    run(&mut disk, write("a", 0, b"x", true)).expect("a disk without faults writes");
    disk.crash(&mut Source::dull());
    assert_eq!(read(&mut disk, "a"), None);
}

#[test]
fn after_a_failed_sync_the_data_is_gone_though_the_page_looked_clean() {
    let mut disk = SimDisk::default();
    made(&mut disk, "a", b"old");
    run(&mut disk, write("a", 0, b"new", false)).expect("a disk without faults writes");
    let sync = FileOp::Sync { path: "a".into() };
    let pinned = Some(DiskFault::Io);
    let as_of = disk.as_of(&sync);
    let failed = disk.perform(0, &sync, as_of, pinned, &Profile::dull(), &mut Source::dull());
    assert_eq!(failed, Err(FileError::Io));
    assert_eq!(read(&mut disk, "a").as_deref(), Some(&b"new"[..]));
    run(&mut disk, FileOp::Sync { path: "a".into() }).expect("the second sync has nothing to do");
    disk.crash(&mut Source::dull());
    assert_eq!(read(&mut disk, "a").as_deref(), Some(&b"old"[..]));
}

/// A disk with two files in a folder, nothing of it synced, and a sync of all under way.
fn sync_under_way() -> SimDisk {
    let mut disk = SimDisk::default();
    run(&mut disk, FileOp::CreateFolder { folder: "t-0".into() }).expect("creates");
    run(&mut disk, write("t-0/a", 0, b"then", false)).expect("writes");
    run(&mut disk, write("t-0/b", 0, b"then", false)).expect("writes");
    let files = vec!["t-0/a".into(), "t-0/b".into(), "t-0/absent".into()];
    let sync = FileOp::SyncAll { files, folders: vec!["t-0".into(), "".into()] };
    disk.submit(0, Ticket(1), sync, &Profile::dull(), &mut Source::dull());
    disk
}

#[test]
fn a_sync_of_many_covers_what_was_there_when_it_was_asked_for() {
    let mut disk = sync_under_way();
    run(&mut disk, write("t-0/a", 2, b"at, and more", false)).expect("writes");
    run(&mut disk, write("t-0/new", 0, b"x", false)).expect("writes");
    let done = disk.complete(9, Lane::Sync, &Profile::dull(), &mut Source::dull());
    assert_eq!(done.expect("it was under way").2, Ok(FileOutcome::Done));
    assert_eq!(read(&mut disk, "t-0/a").as_deref(), Some(&b"that, and more"[..]));
    disk.crash(&mut Source::dull());
    assert_eq!(read(&mut disk, "t-0/a").as_deref(), Some(&b"then"[..]));
    assert_eq!(read(&mut disk, "t-0/b").as_deref(), Some(&b"then"[..]));
    assert_eq!(read(&mut disk, "t-0/new"), None);
}

#[test]
fn of_a_failed_sync_of_many_some_files_are_synced_and_the_others_never_will_be() {
    let (mut only_a, mut only_b) = (false, false);
    for seed in 0..50 {
        let mut disk = sync_under_way();
        disk.pin(Ticket(1), DiskFault::Io);
        let choices = &mut Source::seeded(seed);
        let (_, sync, result) =
            disk.complete(9, Lane::Sync, &Profile::dull(), choices).expect("it was under way");
        assert_eq!(result, Err(FileError::Io));
        run(&mut disk, FileOp::SyncFolder { folder: "".into() }).expect("syncs");
        run(&mut disk, FileOp::SyncFolder { folder: "t-0".into() }).expect("syncs");
        run(&mut disk, sync).expect("the second sync has nothing to do");
        disk.crash(choices);
        let left = |disk: &mut SimDisk, path| read(disk, path).is_some_and(|b| b == b"then");
        let (a, b) = (left(&mut disk, "t-0/a"), left(&mut disk, "t-0/b"));
        only_a |= a && !b;
        only_b |= b && !a;
    }
    assert!(only_a && only_b);
}

#[test]
fn a_rename_is_the_old_or_the_new_file_and_never_neither() {
    for seed in 0..50 {
        let mut disk = SimDisk::default();
        made(&mut disk, "a", b"old");
        run(&mut disk, write("a.tmp", 0, b"new", true)).expect("a disk without faults writes");
        let rename = FileOp::Rename { source: "a.tmp".into(), target: "a".into() };
        run(&mut disk, rename).expect("a disk without faults renames");
        disk.crash(&mut Source::seeded(seed));
        let left = read(&mut disk, "a").expect("one of the two is there");
        assert!(left == b"old" || left == b"new");
    }
}

#[test]
fn a_full_disk_takes_writes_below_what_was_allocated_and_no_others() {
    let mut disk = SimDisk::default();
    run(&mut disk, FileOp::Allocate { path: "a".into(), length: 8 }).expect("there is room");
    disk.fill_until(10);
    run(&mut disk, write("a", 0, b"12345678", false)).expect("the space was reserved");
    assert_eq!(run(&mut disk, write("a", 8, b"9", false)), Err(FileError::NoSpace));
}

#[test]
fn a_folder_lists_its_files_and_folders_sorted() {
    let mut disk = SimDisk::default();
    run(&mut disk, FileOp::CreateFolder { folder: "t-0".into() }).expect("creates");
    run(&mut disk, write("t-0/b", 0, b"x", false)).expect("writes");
    run(&mut disk, write("t-0/a", 0, b"x", false)).expect("writes");
    let listed = run(&mut disk, FileOp::List { folder: "t-0".into() });
    assert_eq!(listed, Ok(FileOutcome::Names(vec!["a".to_owned(), "b".to_owned()])));
}

#[test]
fn a_hole_is_a_segment_that_lost_bytes_before_one_of_its_log_that_has_some() {
    let files = |list: &[(&str, usize)]| -> BTreeMap<FilePath, usize> {
        list.iter().map(|&(path, length)| (FilePath::from(path), length)).collect()
    };
    let before = files(&[("t-0/0.log", 5), ("t-0/5.log", 5), ("t-1/0.log", 5)]);
    let cases: [(&[(&str, usize)], bool); 4] = [
        (&[("t-0/5.log", 5), ("t-1/0.log", 5)], true),
        (&[("t-0/0.log", 3), ("t-0/5.log", 1)], true),
        (&[("t-0/0.log", 5), ("t-1/0.log", 5)], false),
        (&[("t-0/0.log", 5), ("t-0/5.log", 5), ("t-1/0.log", 5)], false),
    ];
    for (after, is_hole) in cases {
        assert_eq!(has_hole(&before, &files(after)), is_hole, "{after:?}");
    }
}

#[test]
fn a_sync_that_ends_late_does_not_undo_a_later_one() {
    let mut disk = SimDisk::default();
    made(&mut disk, "a", b"hello");
    run(&mut disk, write("a", 5, b", world", false)).expect("a disk without faults writes");
    let all = FileOp::SyncAll { files: vec!["a".into()], folders: Vec::new() };
    let as_of = disk.as_of(&all);
    run(&mut disk, write("a", 12, b", again", true)).expect("a disk without faults writes");
    disk.perform(0, &all, as_of, None, &Profile::dull(), &mut Source::dull()).expect("syncs");
    disk.crash(&mut Source::dull());
    assert_eq!(read(&mut disk, "a").as_deref(), Some(&b"hello, world, again"[..]));
}
