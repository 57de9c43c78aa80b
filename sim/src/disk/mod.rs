//! The disk of one simulated node: it outlives the node, and loses what was not synced.
//!
//! * A write goes to the page cache. Only a sync makes it durable; a crash keeps, drops or tears
//!   every unsynced sector by itself, in any subset, because that is what kernels may do.
//! * A creation, rename or removal is durable only after its folder was synced; before, a crash
//!   keeps or drops each.
//! * After a failed sync the data is gone although the page looks clean.
//! * Operations of one lane end in order; each takes a drawn time.
//! * A sync in its own lane covers what was there when it was asked for, and nothing later.

mod aging;
mod doctor;
mod file;
mod names;
mod sync;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use bytes::Bytes;
use verdict_core::io::{FileError, FileOp, FileOutcome, FilePath, FileResult, Lane, Ticket};

pub(crate) use self::aging::{AgedEpochs, age_epochs_of};
use self::file::Contents;
use self::names::{Inode, NameChange, Names};
use self::sync::{AsOf, is_sync};
use crate::choices::{Choices, Fault, Label, Profile, Source};

/// A fault that a scenario pins to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// The operation fails with an input/output error.
    Io,
    /// The operation finds no space.
    NoSpace,
}

/// An operation in its lane.
#[derive(Clone, Debug)]
struct Waiting {
    ticket: Ticket,
    op: FileOp,
    /// What a sync covers.
    as_of: AsOf,
}

/// A disk.
#[derive(Clone, Debug, Default)]
pub struct SimDisk {
    inodes: BTreeMap<u32, Contents>,
    next_inode: u32,
    cached: Names,
    durable: Names,
    /// Not durable yet, each with its number.
    changes: Vec<(u64, NameChange)>,
    next_change: u64,
    lanes: [VecDeque<Waiting>; 3],
    busy_until: [u64; 3],
    full_until_us: u64,
    pinned: Option<(Ticket, DiskFault)>,
    /// Says that a write was synced, and it was not: no broker can be right on it.
    lies: bool,
    /// The last crash took bytes of a segment of the clients' topic, and left a later one.
    has_hole: bool,
}

/// What an operation is called in scenarios and traces.
#[must_use]
pub fn op_name(op: &FileOp) -> &'static str {
    match op {
        FileOp::List { .. } => "List",
        FileOp::Length { .. } => "Length",
        FileOp::Read { .. } => "Read",
        FileOp::Write { sync: true, .. } => "WriteSync",
        FileOp::Write { .. } => "Write",
        FileOp::Sync { .. } => "Sync",
        FileOp::SyncFolder { .. } => "SyncFolder",
        FileOp::SyncAll { .. } => "SyncAll",
        FileOp::Truncate { .. } => "Truncate",
        FileOp::Allocate { .. } => "Allocate",
        FileOp::Rename { .. } => "Rename",
        FileOp::Remove { .. } => "Remove",
        FileOp::CreateFolder { .. } => "CreateFolder",
        FileOp::RemoveFolder { .. } => "RemoveFolder",
    }
}

/// The path an operation is about; "" when it is about many.
#[must_use]
pub fn op_path(op: &FileOp) -> &str {
    let path = match op {
        FileOp::SyncAll { .. } => return "",
        FileOp::List { folder }
        | FileOp::SyncFolder { folder }
        | FileOp::CreateFolder { folder }
        | FileOp::RemoveFolder { folder } => folder,
        FileOp::Length { path }
        | FileOp::Read { path, .. }
        | FileOp::Write { path, .. }
        | FileOp::Sync { path }
        | FileOp::Truncate { path, .. }
        | FileOp::Allocate { path, .. }
        | FileOp::Remove { path } => path,
        FileOp::Rename { source, .. } => source,
    };
    path.as_str()
}

const fn lane_index(lane: Lane) -> usize {
    match lane {
        Lane::Journal => 0,
        Lane::Data => 1,
        Lane::Sync => 2,
    }
}

impl SimDisk {
    /// Takes an operation into its lane; the time at which it ends.
    pub fn submit(
        &mut self,
        now_us: u64,
        ticket: Ticket,
        op: FileOp,
        profile: &Profile,
        choices: &mut Source,
    ) -> (Lane, u64) {
        let lane = op.lane();
        let syncs = is_sync(&op) || matches!(op, FileOp::Write { sync: true, .. });
        let mut took = if syncs {
            choices.between(Label::DiskLatency, 200, 3_000)
        } else {
            choices.between(Label::DiskLatency, 5, 200)
        };
        if choices.chance(Label::DiskStalls, profile.rate(Fault::DiskStalls)) {
            took += choices.between(Label::DiskStall, 50_000, 3_000_000);
        }
        let index = lane_index(lane);
        let end = self.busy_until[index].max(now_us) + took;
        self.busy_until[index] = end;
        let as_of = self.as_of(&op);
        self.lanes[index].push_back(Waiting { ticket, op, as_of });
        (lane, end)
    }

    /// Performs the first operation of a lane.
    pub fn complete(
        &mut self,
        now_us: u64,
        lane: Lane,
        profile: &Profile,
        choices: &mut Source,
    ) -> Option<(Ticket, FileOp, FileResult)> {
        let Waiting { ticket, op, as_of } = self.lanes[lane_index(lane)].pop_front()?;
        let pinned = self.pinned.take_if(|(pinned, _)| *pinned == ticket).map(|(_, fault)| fault);
        let result = self.perform(now_us, &op, as_of, pinned, profile, choices);
        Some((ticket, op, result))
    }

    /// Says from now on that writes were synced which were not.
    pub fn lie(&mut self) {
        self.lies = true;
    }

    /// Makes one operation fail.
    pub fn pin(&mut self, ticket: Ticket, fault: DiskFault) {
        self.pinned = Some((ticket, fault));
    }

    /// The disk is full until a point of time.
    pub fn fill_until(&mut self, until_us: u64) {
        self.full_until_us = until_us;
    }

    /// The node died: what it had not begun is forgotten, what was not durable is at the mercy of
    /// the choices. Of each lane the first operation may have been under way.
    pub fn crash(&mut self, choices: &mut Source) {
        for index in 0..self.lanes.len() {
            if let Some(Waiting { op, .. }) = self.lanes[index].pop_front() {
                if let FileOp::Write { path, position, data, .. } = op {
                    if self.cached.files.contains_key(&path)
                        && choices.below(Label::PartialWrite, 2) == 1
                    {
                        self.write(&path, position, &data, usize::MAX);
                    }
                } else if !is_sync(&op) && choices.below(Label::PartialWrite, 2) == 1 {
                    // Its effect is in the cache, and as lost as everything else there.
                    let _ = self.perform(0, &op, AsOf::default(), None, &Profile::dull(), choices);
                }
            }
            self.lanes[index].clear();
            self.busy_until[index] = 0;
        }
        self.pinned = None;
        let segments = self.segments();
        let changes: Vec<NameChange> =
            core::mem::take(&mut self.changes).into_iter().map(|(_, change)| change).collect();
        self.durable.crash(&changes, choices);
        let durable = &self.durable;
        let orphans: Vec<FilePath> = durable
            .files
            .keys()
            .filter(|path| !durable.has_folder(path.parent()))
            .cloned()
            .collect();
        for path in orphans {
            self.durable.files.remove(&path);
        }
        self.cached = self.durable.clone();
        self.forget_unnamed();
        for contents in self.inodes.values_mut() {
            contents.crash(choices);
        }
        self.has_hole = has_hole(&segments, &self.segments());
    }

    /// Whether the last crash left a hole in a log of the clients' topic: only the checkpoint, or
    /// the journal, tells it from the holes of cleaning.
    pub const fn has_hole(&self) -> bool {
        self.has_hole
    }

    /// Segments of the clients' topic that have bytes, and how many.
    fn segments(&self) -> BTreeMap<FilePath, usize> {
        let length = |inode: &Inode| self.inodes.get(&inode.0).map_or(0, Contents::len);
        let is_one =
            |path: &FilePath| path.as_str().ends_with(".log") && !path.as_str().starts_with("__");
        let files = self.cached.files.iter().filter(|(path, _)| is_one(path));
        files
            .map(|(path, inode)| (path.clone(), length(inode)))
            .filter(|&(_, length)| length > 0)
            .collect()
    }

    /// While the node is down a derived file is lost, cut or has a bit turned: a snapshot or an
    /// index, which the log can make again. Or all snapshots are lost.
    pub fn damage_derived(&mut self, deleted: bool, choices: &mut Source) -> Option<FilePath> {
        if choices.below(Label::Damage, 2) == 1 {
            self.lose_snapshots(deleted);
            return Some(FilePath::from("every snapshot"));
        }
        let derived = |path: &FilePath| {
            let kinds = [".index", ".timeindex", ".txnindex", "leader-epoch-checkpoint"];
            kinds.iter().any(|end| path.as_str().ends_with(end))
                || is_derived_snapshot(path, deleted)
        };
        let paths: Vec<FilePath> =
            self.durable.files.keys().filter(|path| derived(path)).cloned().collect();
        let at = choices.below(Label::Damage, paths.len() as u32) as usize;
        let path = paths.get(at)?.clone();
        if choices.below(Label::Damage, 4) == 3 {
            self.durable.files.remove(&path);
            self.cached = self.durable.clone();
            self.forget_unnamed();
        } else {
            let inode = self.durable.files.get(&path)?;
            self.inodes.get_mut(&inode.0)?.damage(choices);
        }
        Some(path)
    }

    /// While the node is down all snapshots are lost that the logs can make again.
    pub fn lose_snapshots(&mut self, deleted: bool) {
        self.durable.files.retain(|path, _| !is_derived_snapshot(path, deleted));
        self.cached = self.durable.clone();
        self.forget_unnamed();
    }

    /// While the node is down a record of the transaction log that a later one supersedes becomes
    /// one of a kind that is still to come, and one of a consumer group becomes of a kind that was:
    /// the group's topics, as Kafka wrote them before 4.1.
    pub fn put_records_of_other_versions(&mut self) {
        self.change_kind("__transaction_state-", 0, 99);
        self.change_kind("__consumer_offsets-", 3, 4);
    }

    /// The first superseded record whose key is of this kind becomes one of that kind.
    fn change_kind(&mut self, folders: &str, from: i16, to: i16) {
        let mut done = false;
        self.edit(folders, |record| {
            let is_it = record.key.starts_with(&from.to_be_bytes());
            let now = record.superseded && !done && is_it;
            if now {
                record.key[..2].copy_from_slice(&to.to_be_bytes());
                done = true;
            }
            now
        });
    }

    /// While the node is down a bit of the records of a partition turns, or records of the offsets
    /// log become what nobody can read.
    pub fn rot(&mut self, choices: &mut Source) -> Option<FilePath> {
        if choices.below(Label::Damage, 3) == 2 {
            self.edit("__consumer_offsets-", |record| {
                let version = record.value.first_chunk_mut::<2>();
                version.map(|version| *version = 99_i16.to_be_bytes()).is_some()
            });
            return Some(FilePath::from("__consumer_offsets"));
        }
        let paths: Vec<FilePath> = self
            .durable
            .files
            .keys()
            .filter(|path| path.as_str().ends_with(".log"))
            .cloned()
            .collect();
        let path = paths.get(choices.below(Label::Damage, paths.len() as u32) as usize)?.clone();
        let contents = self.inodes.get_mut(&self.durable.files.get(&path)?.0)?;
        contents.turn_a_bit(choices);
        Some(path)
    }

    /// While the node is down the checkpoint file goes, or its copy, or both, as always where there
    /// is a hole. Whether there was one, and none is left: they may also go one after the other, with
    /// no start in between that could make them anew (seeds 507721, 864373).
    pub fn lose_checkpoints(&mut self, choices: &mut Source) -> bool {
        let names = ["verdict-checkpoint", "verdict-checkpoint.copy"].map(FilePath::from);
        let picked = choices.below(Label::Damage, 4);
        let gone = match if self.has_hole { 2 } else { picked } {
            0 => &names[..1],
            1 => &names[1..],
            _ => &names[..],
        };
        let mut lost = false;
        for path in gone {
            lost |= self.durable.files.remove(path).is_some();
        }
        self.cached = self.durable.clone();
        self.forget_unnamed();
        lost && names.iter().all(|path| !self.durable.files.contains_key(path))
    }

    fn edit(&mut self, folders: &str, mut edit: impl FnMut(doctor::Record<'_>) -> bool) {
        for (path, inode) in &self.durable.files {
            if path.as_str().starts_with(folders)
                && path.as_str().ends_with(".log")
                && let Some(contents) = self.inodes.get_mut(&inode.0)
            {
                contents.change(|bytes| doctor::edit_records(bytes, &mut edit));
            }
        }
    }

    /// The durable bytes of every durable file, for oracles that read the image.
    pub fn durable_files(&self) -> impl Iterator<Item = (&FilePath, &[u8])> {
        self.durable.files.iter().filter_map(|(path, inode)| {
            Some((path, self.inodes.get(&inode.0).map(Contents::durable)?))
        })
    }

    /// Bytes of a file as a read finds them now; `None` when there is no such file.
    pub fn as_read(&self, path: &FilePath, position: u64, length: u64) -> Option<&[u8]> {
        let contents = self.inodes.get(&self.cached.files.get(path)?.0)?;
        let number = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Some(contents.read(number(position), number(length)))
    }

    fn forget_unnamed(&mut self) {
        // A creation that is not durable may still come true without the removal that followed.
        let created = self.changes.iter().filter_map(|(_, change)| match change {
            NameChange::Create { inode, .. } => Some(inode),
            _ => None,
        });
        let mut named = vec![false; self.next_inode as usize];
        for inode in self.cached.files.values().chain(self.durable.files.values()).chain(created) {
            named[inode.0 as usize] = true;
        }
        self.inodes.retain(|inode, _| named[*inode as usize]);
    }

    fn change(&mut self, change: NameChange) {
        self.cached.apply(&change);
        self.changes.push((self.next_change, change));
        self.next_change += 1;
    }

    fn create(&mut self, path: &FilePath) -> Result<Inode, FileError> {
        if let Some(&inode) = self.cached.files.get(path) {
            return Ok(inode);
        }
        if !self.cached.has_folder(path.parent()) {
            return Err(FileError::NotFound);
        }
        let inode = Inode(self.next_inode);
        self.next_inode += 1;
        self.inodes.insert(inode.0, Contents::default());
        self.change(NameChange::Create { path: path.clone(), inode });
        Ok(inode)
    }

    fn contents(&mut self, path: &FilePath) -> Result<&mut Contents, FileError> {
        let inode = self.cached.files.get(path).ok_or(FileError::NotFound)?;
        self.inodes.get_mut(&inode.0).ok_or(FileError::NotFound)
    }

    fn write(&mut self, path: &FilePath, position: u64, data: &[Bytes], most: usize) {
        if let Ok(contents) = self.contents(path) {
            contents.write_all(position as usize, data, most);
        }
    }

    fn fault(
        &mut self,
        now_us: u64,
        op: &FileOp,
        pinned: Option<DiskFault>,
        profile: &Profile,
        choices: &mut Source,
    ) -> Option<FileError> {
        match pinned {
            Some(DiskFault::Io) => return Some(FileError::Io),
            Some(DiskFault::NoSpace) => return Some(FileError::NoSpace),
            None => {}
        }
        let fails = match op {
            FileOp::Read { .. } => Some((Label::ReadFails, Fault::ReadFails)),
            op if is_sync(op) => Some((Label::SyncFails, Fault::SyncFails)),
            FileOp::Write { .. } | FileOp::Truncate { .. } | FileOp::Rename { .. } => {
                Some((Label::WriteFails, Fault::WriteFails))
            }
            FileOp::Allocate { .. } => None,
            _ => return None,
        };
        if fails.is_some_and(|(label, fault)| choices.chance(label, profile.rate(fault))) {
            return Some(FileError::Io);
        }
        if let FileOp::Write { path, position, data, .. } = op {
            if choices.chance(Label::DiskFull, profile.rate(Fault::DiskFull)) {
                let lasts = choices.between(Label::FullFor, 10_000, 2_000_000);
                self.full_until_us = self.full_until_us.max(now_us + lasts);
            }
            let full_until_us = self.full_until_us;
            // Copy-on-write file systems need room for what is written over, too.
            let copies = choices.chance(Label::FullCopies, profile.rate(Fault::DiskFull) * 50);
            let end = *position as usize + data.iter().map(Bytes::len).sum::<usize>();
            let mut fits = || self.contents(path).is_ok_and(|contents| end <= contents.len());
            if now_us < full_until_us && (copies || !fits()) {
                return Some(FileError::NoSpace);
            }
        }
        let grows = matches!(op, FileOp::Allocate { .. });
        (grows && now_us < self.full_until_us).then_some(FileError::NoSpace)
    }

    fn perform(
        &mut self,
        now_us: u64,
        op: &FileOp,
        as_of: AsOf,
        pinned: Option<DiskFault>,
        profile: &Profile,
        choices: &mut Source,
    ) -> FileResult {
        if let Some(error) = self.fault(now_us, op, pinned, profile, choices) {
            self.fail(op, &as_of, choices);
            return Err(error);
        }
        match op {
            FileOp::Read { path, position, length } => {
                let contents = self.contents(path)?;
                let bytes = contents.read(*position as usize, *length as usize);
                return Ok(FileOutcome::Bytes(Bytes::copy_from_slice(bytes)));
            }
            FileOp::List { folder } => return Ok(FileOutcome::Names(self.list(folder))),
            FileOp::Length { path } => {
                let length = self.contents(path).ok().map(|contents| contents.len() as u64);
                return Ok(FileOutcome::Length(length));
            }
            FileOp::Write { path, position, data, sync, .. } => {
                let inode = self.create(path)?;
                let contents = self.inodes.get_mut(&inode.0).ok_or(FileError::NotFound)?;
                contents.write_all(*position as usize, data, usize::MAX);
                if *sync {
                    if choices.chance(Label::SyncFails, profile.rate(Fault::SyncFails)) {
                        contents.fail_sync();
                        return Err(FileError::Io);
                    }
                    if !self.lies {
                        contents.sync();
                    }
                }
            }
            FileOp::Sync { .. } | FileOp::SyncFolder { .. } | FileOp::SyncAll { .. } => {
                self.sync(op, as_of)?;
            }
            FileOp::Truncate { path, length } => {
                self.contents(path)?.set_len(*length as usize);
            }
            FileOp::Allocate { path, length } => {
                self.create(path)?;
                let contents = self.contents(path)?;
                if contents.len() < *length as usize {
                    contents.set_len(*length as usize);
                }
            }
            FileOp::Rename { source, target } => {
                self.contents(source)?;
                let (source, target) = (source.clone(), target.clone());
                self.change(NameChange::Rename { source, target });
            }
            FileOp::Remove { path } => {
                if self.cached.files.contains_key(path) {
                    self.change(NameChange::Remove { path: path.clone() });
                }
            }
            FileOp::CreateFolder { folder } => {
                if !self.cached.has_folder(folder.as_str()) {
                    self.change(NameChange::CreateFolder { folder: folder.clone() });
                }
            }
            FileOp::RemoveFolder { folder } => {
                if self.cached.folders.contains(folder) {
                    self.change(NameChange::RemoveFolder { folder: folder.clone() });
                }
            }
        }
        Ok(FileOutcome::Done)
    }

    /// What a failed operation leaves behind: some of a write, and the loss of a sync.
    fn fail(&mut self, op: &FileOp, as_of: &AsOf, choices: &mut Source) {
        match op {
            FileOp::Write { path, position, data, .. } => {
                let whole: usize = data.iter().map(Bytes::len).sum();
                let quarters = choices.below(Label::PartialWrite, 5) as usize;
                if quarters > 0 {
                    let fits = self.contents(path).map_or(0, |contents| contents.len());
                    let room = fits.saturating_sub(*position as usize);
                    self.write(path, *position, data, (whole * quarters / 4).min(room));
                }
            }
            FileOp::Sync { .. } | FileOp::SyncAll { .. } => self.fail_sync(as_of, choices),
            _ => {}
        }
    }

    fn list(&self, folder: &FilePath) -> Vec<String> {
        let folder = folder.as_str();
        let below = |path: &&FilePath| path.as_str().starts_with(folder);
        let within = |path: &FilePath| {
            let is_in = path.is_in(folder) && !path.as_str().is_empty();
            is_in.then(|| path.name().to_owned())
        };
        let from = (Bound::Included(folder), Bound::Unbounded);
        let files = self.cached.files.range::<str, _>(from).map(|(path, _)| path);
        let folders = self.cached.folders.range::<str, _>(from);
        let mut names: Vec<String> =
            files.take_while(below).chain(folders.take_while(below)).filter_map(within).collect();
        names.sort();
        names
    }
}

/// Whether a file is a snapshot that its log can make again. Where records were deleted (`deleted`)
/// the snapshot alone knows the producers that wrote them (seeds 168145, 374905 of afe9981).
fn is_derived_snapshot(path: &FilePath, deleted: bool) -> bool {
    let path = path.as_str();
    path.ends_with(".snapshot") && (!deleted || path.starts_with("__"))
}

/// Whether a segment has fewer bytes than before, and a later one of its log has some.
fn has_hole(before: &BTreeMap<FilePath, usize>, after: &BTreeMap<FilePath, usize>) -> bool {
    before.iter().filter(|&(path, length)| after.get(path).is_none_or(|left| left < length)).any(
        |(path, _)| {
            let later = after.range(path.clone()..).find(|&(other, _)| other != path);
            later.is_some_and(|(other, _)| other.parent() == path.parent())
        },
    )
}

#[cfg(test)]
mod tests;
