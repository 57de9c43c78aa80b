//! Straight-line code over asynchronous files, without async.
//!
//! A step is a function that asks for file operations one after the other. When an answer is not
//! there yet it stops; once the answer has come the step runs again from its beginning and finds
//! the answers so far. So a step changes nothing but its return value, and asks the same questions
//! in the same order.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::io::{FileError, FileOp, FileOutcome, FilePath, FileResult};

/// Why a step stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The answer to this operation is wanted.
    Ask(FileOp),
    /// This operation failed.
    Failed(FileOp, FileError),
    /// Durable bytes are not what was written; why, for people.
    Damaged(String),
}

/// The answers to a step's operations so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Script {
    answers: Vec<FileResult>,
    asked: usize,
}

impl Script {
    /// Adds the answer to the operation the last run stopped at.
    pub(super) fn answer(&mut self, result: FileResult) {
        self.answers.push(result);
    }

    /// Runs a step; its answers are dropped when it ends.
    pub(super) fn run<T>(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.asked = 0;
        let result = step(self);
        if !matches!(result, Err(Stop::Ask(_))) {
            self.answers.clear();
        }
        result
    }

    /// The result of an operation.
    pub(super) fn ask(&mut self, op: FileOp) -> Result<FileOutcome, Stop> {
        let answer = self.answers.get(self.asked).cloned();
        self.asked += 1;
        match answer {
            None => Err(Stop::Ask(op)),
            Some(Ok(outcome)) => Ok(outcome),
            Some(Err(error)) => Err(Stop::Failed(op, error)),
        }
    }

    /// The names in a folder.
    pub(super) fn list(&mut self, folder: &str) -> Result<Vec<String>, Stop> {
        match self.ask(FileOp::List { folder: FilePath::from(folder) })? {
            FileOutcome::Names(names) => Ok(names),
            _ => Ok(Vec::new()),
        }
    }

    /// The length of a file; `None` when absent.
    pub(super) fn length(&mut self, path: &FilePath) -> Result<Option<u64>, Stop> {
        match self.ask(FileOp::Length { path: path.clone() })? {
            FileOutcome::Length(length) => Ok(length),
            _ => Ok(None),
        }
    }

    /// Bytes of a file; none when it is absent.
    pub(super) fn read(
        &mut self,
        path: &FilePath,
        position: u64,
        length: u32,
    ) -> Result<Bytes, Stop> {
        match self.ask(FileOp::Read { path: path.clone(), position, length }) {
            Ok(FileOutcome::Bytes(bytes)) => Ok(bytes),
            Ok(_) | Err(Stop::Failed(_, FileError::NotFound)) => Ok(Bytes::new()),
            Err(stop) => Err(stop),
        }
    }

    /// The whole of a small file; `None` when absent or longer than `limit` bytes.
    pub(super) fn read_all(&mut self, path: &FilePath, limit: u32) -> Result<Option<Bytes>, Stop> {
        match self.length(path)? {
            Some(length) if length <= u64::from(limit) => {
                Ok(Some(self.read(path, 0, u32::try_from(length).unwrap_or(limit))?))
            }
            _ => Ok(None),
        }
    }
}
