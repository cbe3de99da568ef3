//! The command line, read by hand: there is little of it.

use std::path::PathBuf;
use std::time::Duration;

pub const USAGE: &str = "\
usage: prom-bench journal|core [options]
  --dir DIR      where to put the temporary files (default: the current directory; use a real disk)
  --keep         leave the files there
  --quick        shorter measurements
  --json         machine-readable output
  --log-gb N     core: size of the log that is opened (default 1)";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Journal,
    Core,
    /// Started by `core` itself: fills a log and dies.
    Fill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    Full,
    Quick,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Table,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    Remove,
    Keep,
}

#[derive(Debug, Clone)]
pub struct Args {
    pub command: Command,
    pub dir: PathBuf,
    pub leftovers: Leftovers,
    pub pace: Pace,
    pub output: Output,
    pub log_gb: f64,
}

impl Args {
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut words = words;
        let command = match words.next().as_deref() {
            Some("journal") => Command::Journal,
            Some("core") => Command::Core,
            Some("fill") => Command::Fill,
            Some(other) => return Err(format!("unknown command {other:?}")),
            None => return Err("name a command".to_owned()),
        };
        let mut args = Self {
            command,
            dir: PathBuf::from("."),
            leftovers: Leftovers::Remove,
            pace: Pace::Full,
            output: Output::Table,
            log_gb: 1.0,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--dir" => args.dir = words.next().ok_or("--dir needs a directory")?.into(),
                "--keep" => args.leftovers = Leftovers::Keep,
                "--quick" => args.pace = Pace::Quick,
                "--json" => args.output = Output::Json,
                "--log-gb" => {
                    let number = words.next().and_then(|text| text.parse().ok());
                    args.log_gb = number.ok_or("--log-gb needs a number")?;
                }
                other => return Err(format!("unknown option {other:?}")),
            }
        }
        Ok(args)
    }

    pub fn fill_bytes(&self) -> u64 {
        (self.log_gb * 1e9) as u64
    }

    /// How long one throughput measurement runs.
    pub fn span(&self) -> Duration {
        match self.pace {
            Pace::Full => Duration::from_secs(3),
            Pace::Quick => Duration::from_millis(500),
        }
    }

    /// How many single operations a latency measurement makes.
    pub fn samples(&self) -> usize {
        match self.pace {
            Pace::Full => 4_000,
            Pace::Quick => 500,
        }
    }
}
