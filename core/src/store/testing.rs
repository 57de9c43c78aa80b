//! Batches and a disk for the tests of this folder.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use bytes::{BufMut, Bytes, BytesMut};

use super::block::Block;
use crate::batch::{Attributes, BatchHeader};
use crate::io::{FileError, FileOp, FileOutcome, FileResult};
use crate::types::Offset;

/// A good batch of plain records, each with `value`.
pub(super) fn batch(base_offset: Offset, records: i32, value: &[u8]) -> Block {
    batch_at(base_offset, records, value, 1_000)
}

/// The same with a timestamp in ms.
pub(super) fn batch_at(base_offset: Offset, records: i32, value: &[u8], ms: i64) -> Block {
    let mut body = BytesMut::new();
    for delta in 0..records {
        let mut record = BytesMut::new();
        record.put_slice(&[0, 0]);
        put_varint(&mut record, i64::from(delta));
        // A key of its own, so that cleaning leaves it.
        put_varint(&mut record, 8);
        record.put_i64(base_offset + i64::from(delta));
        put_varint(&mut record, value.len() as i64);
        record.put_slice(value);
        record.put_u8(0);
        put_varint(&mut body, record.len() as i64);
        body.put_slice(&record);
    }
    seal(base_offset, records, 0, ms, &body)
}

/// A transaction marker of producer 7.
pub(super) fn marker(base_offset: Offset, commit: bool, coordinator_epoch: i32) -> Block {
    let mut record = BytesMut::new();
    record.put_slice(&[0, 0, 0, 8, 0, 0, 0, u8::from(commit), 12, 0, 0]);
    record.put_i32(coordinator_epoch);
    record.put_u8(0);
    let mut body = BytesMut::new();
    put_varint(&mut body, record.len() as i64);
    body.put_slice(&record);
    seal(base_offset, 1, Attributes::TRANSACTIONAL | Attributes::CONTROL, 1_000, &body)
}

pub(super) fn seal(
    base_offset: Offset,
    records: i32,
    attributes: i16,
    ms: i64,
    body: &[u8],
) -> Block {
    let mut header = BatchHeader {
        base_offset,
        batch_length: i32::try_from(BatchHeader::LENGTH - 12 + body.len()).unwrap(),
        partition_leader_epoch: 0,
        magic: 2,
        crc: 0,
        attributes: Attributes(attributes),
        last_offset_delta: records - 1,
        base_timestamp: ms,
        max_timestamp: ms,
        producer_id: if attributes == 0 { -1 } else { 7 },
        producer_epoch: if attributes == 0 { -1 } else { 0 },
        base_sequence: -1,
        record_count: records,
    };
    let mut bytes = BytesMut::new();
    header.encode(&mut bytes);
    bytes.put_slice(body);
    header.crc = crc32c::crc32c(&bytes[BatchHeader::CRC_START..]);
    bytes.clear();
    header.encode(&mut bytes);
    bytes.put_slice(body);
    Block::split_from(&mut bytes.freeze()).unwrap()
}

fn put_varint(out: &mut BytesMut, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.put_u8(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.put_u8(rest as u8);
}

/// Bytes that a crash tears.
const SECTOR: usize = 512;

#[derive(Clone, Debug, Default)]
struct FakeFile {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// Writes and cuts since the last sync, in order.
    unsynced: Vec<Change>,
    /// Whether its folder was synced since it got its name.
    synced_name: bool,
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>, mut keep: impl FnMut() -> bool) {
        match self {
            Self::Length(length) => {
                if keep() {
                    bytes.resize(*length, 0);
                }
            }
            Self::Write(position, data) => {
                let mut at = *position;
                for sector in data.chunks(SECTOR) {
                    if keep() {
                        let end = at + sector.len();
                        if bytes.len() < end {
                            bytes.resize(end, 0);
                        }
                        bytes[at..end].copy_from_slice(sector);
                    }
                    at += sector.len();
                }
            }
        }
    }
}

/// A disk in memory. What was not synced may be lost at a crash: writes in any subset of their
/// sectors, creations, renames and removals in any subset of files.
#[derive(Clone, Debug, Default)]
pub(super) struct FakeDisk {
    files: BTreeMap<String, FakeFile>,
    folders: BTreeSet<String>,
    /// Names as of the last sync of their folder.
    durable_names: BTreeMap<String, FakeFile>,
    /// Those of them that are in folders which were removed: once the parent is synced they are
    /// gone, also when a folder of that name is there again.
    removed: BTreeSet<String>,
}

impl FakeDisk {
    /// Performs an operation.
    pub(super) fn perform(&mut self, op: &FileOp) -> FileResult {
        match op {
            FileOp::List { folder } => Ok(FileOutcome::Names(self.list(folder.as_str()))),
            FileOp::Length { path } => Ok(FileOutcome::Length(
                self.files.get(path.as_str()).map(|file| file.live.len() as u64),
            )),
            FileOp::Read { path, position, length } => {
                let file = self.files.get(path.as_str()).ok_or(FileError::NotFound)?;
                let from = (*position as usize).min(file.live.len());
                let to = (from + *length as usize).min(file.live.len());
                Ok(FileOutcome::Bytes(Bytes::copy_from_slice(&file.live[from..to])))
            }
            FileOp::Write { path, position, data, sync, .. } => {
                let data: Vec<u8> = data.concat();
                if path.as_str().contains('/') && !self.folders.contains(path.parent()) {
                    return Err(FileError::NotFound);
                }
                self.change(path.as_str(), Change::Write(*position as usize, data));
                if *sync {
                    self.sync(path.as_str());
                }
                Ok(FileOutcome::Done)
            }
            FileOp::Sync { path } => {
                if !self.files.contains_key(path.as_str()) {
                    return Err(FileError::NotFound);
                }
                self.sync(path.as_str());
                Ok(FileOutcome::Done)
            }
            FileOp::SyncFolder { folder } => {
                self.sync_folder(folder.as_str());
                Ok(FileOutcome::Done)
            }
            FileOp::SyncAll { files, folders } => {
                files.iter().for_each(|path| self.sync(path.as_str()));
                folders.iter().for_each(|folder| self.sync_folder(folder.as_str()));
                Ok(FileOutcome::Done)
            }
            FileOp::Truncate { path, length } | FileOp::Allocate { path, length } => {
                self.change(path.as_str(), Change::Length(*length as usize));
                Ok(FileOutcome::Done)
            }
            FileOp::Rename { source, target } => {
                let mut file = self.files.remove(source.as_str()).ok_or(FileError::NotFound)?;
                file.synced_name = false;
                self.files.insert(target.to_string(), file);
                Ok(FileOutcome::Done)
            }
            FileOp::Remove { path } => {
                self.files.remove(path.as_str());
                Ok(FileOutcome::Done)
            }
            FileOp::CreateFolder { folder } => {
                self.folders.insert(folder.to_string());
                Ok(FileOutcome::Done)
            }
            FileOp::RemoveFolder { folder } => {
                self.folders.remove(folder.as_str());
                let prefix = alloc::format!("{folder}/");
                self.files.retain(|path, _| !path.starts_with(&prefix));
                let durable = self.durable_names.keys().filter(|path| path.starts_with(&prefix));
                self.removed.extend(durable.cloned());
                Ok(FileOutcome::Done)
            }
        }
    }

    /// The power goes: what was not synced survives where `keep` says so.
    pub(super) fn crash(&mut self, mut keep: impl FnMut() -> bool) {
        let mut after: BTreeMap<String, FakeFile> = BTreeMap::new();
        let names: BTreeSet<String> =
            self.files.keys().chain(self.durable_names.keys()).cloned().collect();
        for name in names {
            let (live, durable) = (self.files.get(&name), self.durable_names.get(&name));
            let file = match (live, durable) {
                // The same file, or a new one of that name, or a removal: old or new.
                (Some(live), Some(_)) if live.synced_name => Some(live),
                (live, durable) => {
                    if keep() {
                        live
                    } else {
                        durable
                    }
                }
            };
            let Some(file) = file else { continue };
            let mut bytes = file.durable.clone();
            for change in &file.unsynced {
                change.apply(&mut bytes, &mut keep);
            }
            let file = FakeFile { live: bytes.clone(), durable: bytes, ..FakeFile::default() };
            after.insert(name, file);
        }
        self.folders =
            after.keys().filter_map(|p| p.rsplit_once('/')).map(|(f, _)| f.to_string()).collect();
        for file in after.values_mut() {
            file.synced_name = true;
        }
        self.durable_names = after.clone();
        self.files = after;
        self.removed.clear();
    }

    /// A file's bytes as a reader sees them.
    pub(super) fn file(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(|file| &file.live[..])
    }

    /// Changes durable bytes behind the back of everyone.
    pub(super) fn damage(&mut self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let file = self.files.get_mut(path).unwrap();
        change(&mut file.live);
        file.durable = file.live.clone();
        file.unsynced.clear();
    }

    /// All files below a folder.
    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.keys()
    }

    fn list(&self, folder: &str) -> Vec<String> {
        if folder.is_empty() {
            let top = self.files.keys().filter(|path| !path.contains('/'));
            let names: BTreeSet<String> = top.chain(&self.folders).cloned().collect();
            return names.into_iter().filter(|name| !name.is_empty()).collect();
        }
        let prefix = alloc::format!("{folder}/");
        self.files.keys().filter_map(|path| path.strip_prefix(&prefix)).map(String::from).collect()
    }

    fn change(&mut self, path: &str, change: Change) {
        let file = self.files.entry(path.to_string()).or_default();
        change.apply(&mut file.live, || true);
        file.unsynced.push(change);
    }

    fn sync(&mut self, path: &str) {
        if let Some(file) = self.files.get_mut(path) {
            file.durable = file.live.clone();
            file.unsynced.clear();
            if file.synced_name {
                self.removed.remove(path);
                self.durable_names.insert(path.to_string(), file.clone());
            }
        }
    }

    fn sync_folder(&mut self, folder: &str) {
        let inside = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder) == folder;
        self.durable_names.retain(|path, _| !inside(path) || self.files.contains_key(path));
        if folder.is_empty() {
            // The removal of a folder is an entry of its parent.
            for path in core::mem::take(&mut self.removed) {
                self.durable_names.remove(&path);
            }
        }
        for (path, file) in self.files.iter_mut().filter(|(path, _)| inside(path)) {
            file.synced_name = true;
            self.removed.remove(path);
            self.durable_names.insert(path.clone(), file.clone());
        }
    }
}
