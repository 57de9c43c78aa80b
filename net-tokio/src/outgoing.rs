//! An answer on its way out: its buffers, and beside them open files that hold the same bytes.
//!
//! What a file holds goes out from there, so that its bytes are not copied (`sendfile`). The
//! buffers say what the answer is: where a file falls short of it or cannot be sent, they go on
//! with the byte that is next.

use std::collections::VecDeque;
use std::fs::File;
use std::io;

use bytes::Buf;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use verdict_core::wire::{FrameParts, Response};

use crate::files::{Files, OpenRun};
use crate::pieces::Pieces;

/// The files that an answer names, in its order, as far as they could be opened.
pub(crate) type Opened = Vec<Option<OpenRun>>;

/// Opens the files that an answer names. To be called before the node is given anything else.
pub(crate) fn open(files: &dyn Files, response: &Response) -> Opened {
    match response {
        Response::Fetch(fetch) => fetch.files.iter().map(|(_, run)| files.open(run)).collect(),
        _ => Vec::new(),
    }
}

/// An answer, or what is left of it.
pub(crate) struct Outgoing {
    pieces: Pieces,
    /// Bytes that have gone.
    gone: usize,
    runs: VecDeque<Run>,
}

/// Bytes of the answer that a file holds.
struct Run {
    /// How many bytes of the answer go before them.
    at: usize,
    file: OpenRun,
}

impl Outgoing {
    pub(crate) fn new(frame: FrameParts, opened: Opened) -> Self {
        let runs = frame.files_at.into_iter().zip(opened);
        let runs = runs.filter_map(|(at, file)| Some(Run { at, file: file? })).collect();
        Self { pieces: Pieces::new(frame.parts), gone: 0, runs }
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.pieces.remaining()
    }

    /// Writes what is left. May be dropped half way: what was written is gone from it.
    pub(crate) async fn write_to(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        while self.pieces.has_remaining() {
            let written = match self.runs.front() {
                None => stream.write_buf(&mut self.pieces).await?,
                Some(run) if run.at > self.gone => {
                    let chunk = self.pieces.chunk();
                    let chunk = &chunk[..chunk.len().min(run.at - self.gone)];
                    let written = system::send_before_more(stream, chunk).await?;
                    self.pieces.advance(written);
                    written
                }
                Some(run) => {
                    let sent = run.send(stream, self.gone).await;
                    if sent == 0 {
                        self.runs.pop_front();
                        continue;
                    }
                    self.pieces.advance(sent);
                    sent
                }
            };
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.gone += written;
        }
        Ok(())
    }
}

impl Run {
    /// Sends the next bytes from the file; how many, 0 when it has no more or cannot be sent.
    async fn send(&self, stream: &mut TcpStream, gone: usize) -> usize {
        let sent = (gone - self.at) as u64;
        let OpenRun { file, position, length, .. } = &self.file;
        let left = usize::try_from(length.saturating_sub(sent)).unwrap_or(usize::MAX);
        if left == 0 {
            return 0;
        }
        system::send_file(stream, file, position.saturating_add(sent), left).await.unwrap_or(0)
    }
}

#[cfg(all(target_os = "linux", not(madsim)))]
mod system {
    use rustix::net::SendFlags;
    use tokio::io::Interest;

    use super::{File, TcpStream, io};

    /// Sends so many bytes of a file at most.
    pub(super) async fn send_file(
        stream: &mut TcpStream,
        file: &File,
        position: u64,
        count: usize,
    ) -> io::Result<usize> {
        let stream = &*stream;
        let send = || Ok(rustix::fs::sendfile(stream, file, Some(&mut position.clone()), count)?);
        stream.async_io(Interest::WRITABLE, send).await
    }

    /// Writes bytes that more will follow at once: they need no packet of their own.
    pub(super) async fn send_before_more(
        stream: &mut TcpStream,
        bytes: &[u8],
    ) -> io::Result<usize> {
        let stream = &*stream;
        let send = || Ok(rustix::net::send(stream, bytes, SendFlags::MORE)?);
        stream.async_io(Interest::WRITABLE, send).await
    }
}

#[cfg(not(all(target_os = "linux", not(madsim))))]
mod system {
    use super::{AsyncWriteExt, File, TcpStream, io};

    pub(super) async fn send_file(
        _: &mut TcpStream,
        _: &File,
        _: u64,
        _: usize,
    ) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) async fn send_before_more(
        stream: &mut TcpStream,
        bytes: &[u8],
    ) -> io::Result<usize> {
        stream.write(bytes).await
    }
}

#[cfg(all(test, not(madsim)))]
mod tests;
