//! The command line, read by hand: there is little of it.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

pub const USAGE: &str = "\
usage: prom-bench journal|core|hub|mongo|compare|growth|rest [options]
  --dir DIR        where to put the temporary files (default: the current directory; use a real disk)
  --keep           leave the files there
  --quick          shorter measurements
  --json           machine-readable output
  --log-gb N       core, rest: size of the log that is opened; hub: size of the export (default 1)
  --idle N         hub: idle connections (default 10000)
  --prom FILE      hub, compare, growth, rest: the binary (default: beside this one)
  --rounds N       compare, mongo: rounds of the main shapes (default 5); growth: of each figure (default 3)
  --only A,B       compare: publish, consume, both, latency, fan-out, catch-up, payload, publishers, topics;
                   growth: events, topics, groups, connections
  --peers A,B      compare, rest: who takes part: prom, nats, redis, rabbitmq, or one of their settings (default: all)
  --max-events N   growth: the longest topic (default 10000000)
  --write DIR      compare, growth, rest: write tables, plots and every round there (docs/performance)";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Journal,
    Core,
    Hub,
    Mongo,
    Compare,
    Growth,
    Rest,
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
    pub rounds: usize,
    pub only: Vec<String>,
    pub peers: Vec<String>,
    pub max_events: u64,
    pub write: Option<PathBuf>,
}

impl Args {
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut words = words;
        let command = match words.next().as_deref() {
            Some("journal") => Command::Journal,
            Some("core") => Command::Core,
            Some("hub") => Command::Hub,
            Some("mongo") => Command::Mongo,
            Some("compare") => Command::Compare,
            Some("growth") => Command::Growth,
            Some("rest") => Command::Rest,
            Some("fill") => Command::Fill,
            Some(other) => return Err(format!("unknown command {other:?}")),
            None => return Err("name a command".to_owned()),
        };
        let mut args = Self::defaults(command);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--keep" => args.leftovers = Leftovers::Keep,
                "--quick" => args.pace = Pace::Quick,
                "--json" => args.output = Output::Json,
                option => args.set(option, words.next())?,
            }
        }
        Ok(args)
    }

    fn defaults(command: Command) -> Self {
        Self {
            command,
            dir: PathBuf::from("."),
            leftovers: Leftovers::Remove,
            pace: Pace::Full,
            output: Output::Table,
            log_gb: 1.0,
            idle: 10_000,
            prom: None,
            rounds: if matches!(command, Command::Compare | Command::Mongo) { 5 } else { 3 },
            only: Vec::new(),
            peers: Vec::new(),
            max_events: 10_000_000,
            write: None,
        }
    }

    /// An option that has a value.
    fn set(&mut self, option: &str, value: Option<String>) -> Result<(), String> {
        match option {
            "--dir" => self.dir = text(option, value)?.into(),
            "--log-gb" => self.log_gb = number(option, value)?,
            "--idle" => self.idle = number(option, value)?,
            "--prom" => self.prom = Some(text(option, value)?.into()),
            "--rounds" => self.rounds = number::<usize>(option, value)?.max(1),
            "--only" => self.only = list(option, value)?,
            "--peers" => self.peers = list(option, value)?,
            "--max-events" => self.max_events = number(option, value)?,
            "--write" => self.write = Some(text(option, value)?.into()),
            other => return Err(format!("unknown option {other:?}")),
        }
        Ok(())
    }

    pub fn is_full(&self) -> bool {
        self.pace == Pace::Full
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

fn text(option: &str, value: Option<String>) -> Result<String, String> {
    value.ok_or_else(|| format!("{option} needs a value"))
}

/// 10000000 may be written 10_000_000.
fn number<T: FromStr>(option: &str, value: Option<String>) -> Result<T, String> {
    let text = text(option, value)?;
    text.replace('_', "").parse().map_err(|_| format!("{option} needs a number, not {text:?}"))
}

fn list(option: &str, value: Option<String>) -> Result<Vec<String>, String> {
    Ok(text(option, value)?.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, String> {
        Args::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read_in_any_order() {
        let args =
            parse("growth --max-events 30_000_000 --quick --only events,topics --write docs/performance").unwrap();
        assert_eq!((args.command, args.max_events, args.pace), (Command::Growth, 30_000_000, Pace::Quick));
        assert_eq!(args.only, ["events", "topics"]);
        assert_eq!((args.rounds, parse("compare").unwrap().rounds), (3, 5));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, named) in [
            ("", "command"),
            ("compete", "compete"),
            ("compare --rounds many", "many"),
            ("compare --write", "--write"),
            ("compare --fast 1", "--fast"),
        ] {
            let wrong = parse(line).unwrap_err();
            assert!(wrong.contains(named), "{line}: {wrong}");
        }
    }
}
