//! A body as lines, without holding more than one of them and the piece that came last.

use axum::body::Body;
use bytes::{Buf, Bytes, BytesMut};

use crate::http::body::Pieces;
use crate::http::budget::BodyShare;
use crate::http::limits::{IMPORT_BATCH_BYTES, IMPORT_LINE_BYTES, IMPORT_LINGER};
use crate::http::problem::{Code, Problem};

/// Counted from 1; empty lines count and are left out.
pub(super) enum Line {
    Whole { number: u64, text: Bytes },
    TooLong { number: u64, problem: Problem },
}

pub(super) struct Lines {
    pieces: Pieces,
    /// The last piece, from where the next line goes on.
    piece: Bytes,
    /// The beginning of a line whose end has not come yet.
    begun: BytesMut,
    number: u64,
    /// The line is too long already: the rest of it is let pass.
    too_long: bool,
    /// For a batch of lines and the line that has begun.
    share: BodyShare,
}

impl Lines {
    /// Waits for the first piece. A client that asks whether to go on (`Expect: 100-continue`) is told
    /// to when its body is asked for, and only if no answer has begun before.
    pub async fn begin(body: Body, share: BodyShare) -> Result<Self, Problem> {
        let mut pieces = Pieces(body);
        let piece = pieces.next().await?.unwrap_or_default();
        Ok(Self { pieces, piece, begun: BytesMut::new(), number: 0, too_long: false, share })
    }

    /// How many lines were seen.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Lets the rest go by, for a while: a connection that is closed while its client still sends may
    /// take the end of the answer with it.
    pub async fn linger(mut self) {
        let pass = async { while let Ok(Some(_)) = self.pieces.next().await {} };
        let _still_sending = tokio::time::timeout(IMPORT_LINGER, pass).await;
    }

    pub async fn next(&mut self) -> Result<Option<Line>, Problem> {
        loop {
            let end = self.piece.iter().position(|&byte| byte == b'\n');
            if let Some(end) = end {
                let tail = self.piece.split_to(end);
                self.piece.advance(1);
                if let Some(line) = self.finish(tail) {
                    return Ok(Some(line));
                }
                continue;
            }
            self.keep()?;
            match self.pieces.next().await? {
                Some(piece) => self.piece = piece,
                None if self.begun.is_empty() && !self.too_long => return Ok(None),
                None => {
                    if let Some(line) = self.finish(Bytes::new()) {
                        return Ok(Some(line));
                    }
                    return Ok(None);
                }
            }
        }
    }

    /// The rest of the piece begins a line.
    fn keep(&mut self) -> Result<(), Problem> {
        let rest = std::mem::take(&mut self.piece);
        if self.too_long || self.begun.len() + rest.len() > IMPORT_LINE_BYTES {
            self.too_long = true;
            self.begun.clear();
        } else {
            self.begun.extend_from_slice(&rest);
            self.share.grow_to(IMPORT_BATCH_BYTES + self.begun.capacity())?;
        }
        Ok(())
    }

    fn finish(&mut self, tail: Bytes) -> Option<Line> {
        self.number += 1;
        let number = self.number;
        let too_long = std::mem::take(&mut self.too_long) || self.begun.len() + tail.len() > IMPORT_LINE_BYTES;
        let text = if self.begun.is_empty() {
            tail
        } else {
            self.begun.extend_from_slice(&tail);
            self.begun.split().freeze()
        };
        if too_long {
            let problem = Problem::new(Code::TooLarge, format!("the line is above {IMPORT_LINE_BYTES} bytes"));
            return Some(Line::TooLong { number, problem });
        }
        let text = text.slice_ref(text.trim_ascii());
        (!text.is_empty()).then_some(Line::Whole { number, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::budget::BodyBudget;

    async fn lines(pieces: Vec<Vec<u8>>) -> Vec<(u64, Option<String>)> {
        let pieces = pieces.into_iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)));
        let share = BodyBudget::new(64 << 20).take(&None, IMPORT_BATCH_BYTES).unwrap();
        let mut lines = Lines::begin(Body::from_stream(futures::stream::iter(pieces)), share).await.unwrap();
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(match line {
                Line::Whole { number, text } => (number, Some(String::from_utf8(text.to_vec()).unwrap())),
                Line::TooLong { number, .. } => (number, None),
            });
        }
        found
    }

    #[tokio::test]
    async fn lines_are_found_however_the_body_is_cut() {
        let text = b"one\n\n two\r\nthree\n\nfour";
        let expected: Vec<_> = [(1, "one"), (3, "two"), (4, "three"), (6, "four")]
            .map(|(number, text)| (number, Some(text.to_owned())))
            .into();
        for size in 1..=text.len() {
            let pieces = text.chunks(size).map(<[u8]>::to_vec).collect();
            assert_eq!(lines(pieces).await, expected, "in pieces of {size}");
        }
        assert_eq!(lines(Vec::new()).await, []);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_let_pass_and_the_next_one_is_read() {
        let mut pieces: Vec<Vec<u8>> = vec![b"a\n".to_vec()];
        pieces.extend(std::iter::repeat_n(vec![b'x'; 1 << 20], 6));
        pieces.push(b"\nb".to_vec());
        let expected = [(1, Some("a".to_owned())), (2, None), (3, Some("b".to_owned()))];
        assert_eq!(lines(pieces).await, expected);
        let at_once = [b"a\n".to_vec(), vec![b'x'; 6 << 20], b"\nb".to_vec()].concat();
        assert_eq!(lines(vec![at_once]).await, expected);
        let unfinished = vec![b"a\n".to_vec(), vec![b'x'; 6 << 20]];
        assert_eq!(lines(unfinished).await, expected[..2]);
    }
}
