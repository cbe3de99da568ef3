//! Input that is read by a thread of its own, so that waiting for it holds nothing else up. A bounded queue lies
//! between: what the hub does not take yet is not read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use tokio::sync::mpsc;

use crate::exit::Failure;

/// Pieces or lines that wait for the hub.
const WAITING: usize = 64;
const PIECE_BYTES: usize = 64 * 1024;

/// Something to read, and how much of it there is, where that is known.
pub struct LineInput {
    reader: Box<dyn Read + Send>,
    pub bytes: Option<u64>,
}

impl LineInput {
    /// `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Self::standard());
        }
        let failed = |error: io::Error| Failure::usage(format!("{} cannot be read: {error}", path.display()));
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(Failure::usage(format!("{} is a directory", path.display())));
        }
        let bytes = metadata.is_file().then_some(metadata.len());
        Ok(Self { reader: Box::new(file), bytes })
    }

    pub fn standard() -> Self {
        Self { reader: Box::new(io::stdin()), bytes: None }
    }

    /// As it comes, in pieces.
    pub fn pieces(mut self) -> mpsc::Receiver<io::Result<Vec<u8>>> {
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::task::spawn_blocking(move || {
            loop {
                let mut piece = vec![0; PIECE_BYTES];
                let read = self.reader.read(&mut piece);
                let piece = match read {
                    Ok(0) => return,
                    Ok(length) => {
                        piece.truncate(length);
                        Ok(piece)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let ends = piece.is_err();
                if sender.blocking_send(piece).is_err() || ends {
                    return;
                }
            }
        });
        receiver
    }

    /// Lines with their numbers from 1, without those that are blank.
    pub fn lines(self) -> mpsc::Receiver<io::Result<(u64, String)>> {
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::task::spawn_blocking(move || {
            for (line, number) in BufReader::new(self.reader).lines().zip(1..) {
                let ends = line.is_err();
                let is_blank = line.as_ref().is_ok_and(|line| line.trim().is_empty());
                if !is_blank && sender.blocking_send(line.map(|line| (number, line))).is_err() || ends {
                    return;
                }
            }
        });
        receiver
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_keep_their_numbers_and_blank_ones_are_left_out() {
        let text = "a\n\n  \nb\r\nc";
        let input = LineInput { reader: Box::new(text.as_bytes()), bytes: None };
        let mut lines = input.lines();
        let mut found = Vec::new();
        while let Some(line) = lines.recv().await {
            found.push(line.unwrap());
        }
        let expected = [(1, "a"), (4, "b"), (5, "c")].map(|(number, line)| (number, line.to_owned()));
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn pieces_are_the_whole_input() {
        let text = vec![b'x'; PIECE_BYTES * 2 + 1];
        let mut pieces = LineInput { reader: Box::new(io::Cursor::new(text.clone())), bytes: None }.pieces();
        let mut found = Vec::new();
        while let Some(piece) = pieces.recv().await {
            found.extend(piece.unwrap());
        }
        assert_eq!(found, text);
    }
}
