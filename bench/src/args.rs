//! The command line, read by hand: there is little of it.

use std::path::PathBuf;
use std::time::Duration;

pub const USAGE: &str = "\
usage: prom-bench journal|core|hub [options]
  --dir DIR      where to put the temporary files (default: the current directory; use a real disk)
  --keep         leave the files there
  --quick        shorter measurements
  --json         machine-readable output
  --log-gb N     core: size of the log that is opened; hub: size of the export (default 1)
  --idle N       hub: idle connections (default 10000)
  --prom FILE    hub: the binary (default: beside this one)";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Journal,
    Core,
    Hub,
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
    pub idle: usize,
    pub prom: Option<PathBuf>,
}

impl Args {
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut words = words;
        let command = match words.next().as_deref() {
            Some("journal") => Command::Journal,
            Some("core") => Command::Core,
            Some("hub") => Command::Hub,
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
            idle: 10_000,
            prom: None,
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
                "--idle" => {
                    let number = words.next().and_then(|text| text.parse().ok());
                    args.idle = number.ok_or("--idle needs a number")?;
                }
                "--prom" => args.prom = Some(words.next().ok_or("--prom needs a file")?.into()),
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
