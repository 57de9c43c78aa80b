//! Kafka's framing: a 4-byte length, then that many bytes.
//!
//! Owns a connection's input buffer. Nothing is allocated for a claimed length: the buffer grows
//! with the bytes that arrive. Every method may be dropped half way and called again.

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of the length in front of a frame.
const PREFIX: usize = 4;
/// Space made before a read when nothing is known about what comes.
const READ_STEP: usize = 8 * 1024;
/// Less space than this is not worth a read.
const READ_ROOM_MIN: usize = 1024;
/// Space made before a read inside a large frame at most; it doubles with what has arrived.
const LARGE_READ_STEP: usize = 256 * 1024;
/// How much of later requests is taken in while one is being answered.
pub(crate) const READ_AHEAD_BYTES: usize = 64 * 1024;

/// Why no frame comes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    /// The length is negative, zero or above `socket.request.max.bytes`.
    #[error("frame of {length} bytes, allowed are 1 to {max_bytes}")]
    Length { length: i32, max_bytes: usize },
    /// The peer closed inside a frame.
    #[error("closed in the middle of a frame")]
    Truncated,
    /// The socket failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Reads frames off a stream.
pub(crate) struct FrameReader {
    buffer: BytesMut,
    max_bytes: usize,
}

impl FrameReader {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { buffer: BytesMut::new(), max_bytes }
    }

    /// The length of the next frame; `None` when the peer closed between frames.
    pub(crate) async fn length<R>(&mut self, stream: &mut R) -> Result<Option<usize>, FrameError>
    where
        R: AsyncRead + Unpin,
    {
        while self.buffer.len() < PREFIX {
            self.make_room();
            if stream.read_buf(&mut self.buffer).await? == 0 {
                let clean = self.buffer.is_empty();
                return if clean { Ok(None) } else { Err(FrameError::Truncated) };
            }
        }
        let length = (&self.buffer[..PREFIX]).get_i32();
        match usize::try_from(length) {
            Ok(bytes @ 1..) if bytes <= self.max_bytes => Ok(Some(bytes)),
            _ => Err(FrameError::Length { length, max_bytes: self.max_bytes }),
        }
    }

    /// Space for a read, in the buffer of the frames before as long as it has some.
    fn make_room(&mut self) {
        if self.buffer.capacity() - self.buffer.len() < READ_ROOM_MIN {
            self.buffer.reserve(READ_STEP);
        }
    }

    /// How much of the frame whose length [`Self::length`] told is still to come.
    pub(crate) fn missing(&self, length: usize) -> usize {
        (PREFIX + length).saturating_sub(self.buffer.len())
    }

    /// How much of it the next read takes in at most: no more than has arrived, but for the first
    /// bytes, so that a claimed length is worth nothing.
    pub(crate) fn step(&self, length: usize) -> usize {
        self.missing(length).min(self.buffer.len().clamp(READ_STEP, LARGE_READ_STEP))
    }

    /// Takes in some of it.
    pub(crate) async fn read_some<R>(
        &mut self,
        stream: &mut R,
        length: usize,
    ) -> Result<(), FrameError>
    where
        R: AsyncRead + Unpin,
    {
        self.buffer.reserve(self.step(length));
        match stream.read_buf(&mut self.buffer).await? {
            0 => Err(FrameError::Truncated),
            _ => Ok(()),
        }
    }

    /// The whole of it, without its length.
    pub(crate) async fn body<R>(
        &mut self,
        stream: &mut R,
        length: usize,
    ) -> Result<Bytes, FrameError>
    where
        R: AsyncRead + Unpin,
    {
        while self.missing(length) > 0 {
            self.read_some(stream, length).await?;
        }
        Ok(self.take(length))
    }

    /// The frame without its length, of which nothing is missing.
    pub(crate) fn take(&mut self, length: usize) -> Bytes {
        self.buffer.advance(PREFIX);
        self.buffer.split_to(length).freeze()
    }

    /// Takes in bytes of later requests, up to [`READ_AHEAD_BYTES`], and returns when the peer is
    /// gone. Never returns while the read-ahead is full.
    pub(crate) async fn watch<R>(&mut self, stream: &mut R)
    where
        R: AsyncRead + Unpin,
    {
        while self.buffer.len() < READ_AHEAD_BYTES {
            self.make_room();
            if matches!(stream.read_buf(&mut self.buffer).await, Ok(0) | Err(_)) {
                return;
            }
        }
        std::future::pending::<()>().await;
    }
}

#[cfg(all(test, not(madsim)))]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    async fn next(reader: &mut FrameReader, bytes: &[u8]) -> Result<Option<Bytes>, FrameError> {
        let mut stream = bytes;
        match reader.length(&mut stream).await? {
            Some(length) => reader.body(&mut stream, length).await.map(Some),
            None => Ok(None),
        }
    }

    #[tokio::test]
    async fn two_pipelined_frames_come_out_one_after_the_other() {
        let mut reader = FrameReader::new(100);
        let first = next(&mut reader, b"\0\0\0\x02ab\0\0\0\x01c").await.expect("a frame");
        assert_eq!(first.as_deref(), Some(&b"ab"[..]));
        let second = next(&mut reader, b"").await.expect("a frame");
        assert_eq!(second.as_deref(), Some(&b"c"[..]));
        assert!(next(&mut reader, b"").await.expect("a clean end").is_none());
    }

    #[tokio::test]
    async fn lengths_out_of_bounds_are_refused_before_anything_is_read() {
        let table: [&[u8; 4]; 4] =
            [&[0, 0, 0, 0], &[0xff, 0xff, 0xff, 0xff], &[0, 0, 0, 101], &[0x7f, 0xff, 0xff, 0xff]];
        for prefix in table {
            let refused = next(&mut FrameReader::new(100), prefix).await;
            assert!(matches!(refused, Err(FrameError::Length { .. })), "{prefix:?}");
        }
    }

    #[tokio::test]
    async fn a_frame_that_arrives_byte_by_byte_is_whole() {
        let (mut far, mut near) = tokio::io::duplex(1);
        let sender = tokio::spawn(async move {
            far.write_all(b"\0\0\0\x05hello").await.expect("the reader lives");
        });
        let mut reader = FrameReader::new(100);
        let length = reader.length(&mut near).await.expect("a length").expect("no end");
        assert_eq!(&reader.body(&mut near, length).await.expect("a body")[..], b"hello");
        sender.await.expect("no panic");
    }

    #[tokio::test]
    async fn a_large_claim_allocates_nothing_before_its_bytes_come() {
        let mut reader = FrameReader::new(100_000_000);
        let refused = next(&mut reader, b"\x05\xf5\xe1\x00abc").await;
        assert!(matches!(refused, Err(FrameError::Truncated)));
        assert!(reader.buffer.capacity() < 64 * 1024);
    }

    #[tokio::test]
    async fn the_end_of_the_peer_is_seen_while_an_answer_is_awaited() {
        let (far, mut near) = tokio::io::duplex(64);
        let mut reader = FrameReader::new(100);
        drop(far);
        reader.watch(&mut near).await;
    }
}
