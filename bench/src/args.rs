//! The command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::compare::Shape;
use crate::growth::Axis;

/// Measure the bus, the disk under it and other servers, side by side in one run
#[derive(Debug, Parser)]
#[command(
    name = "prom-bench",
    version,
    after_help = "\
Figures go to standard output, progress to standard error. Build with --release, and have nothing else running.

Examples:
  prom-bench core --quick                             does everything work?
  prom-bench hub --dir /var/tmp                       on another disk
  prom-bench compare --only publish,latency --peers prom,nats
  prom-bench compare --write docs/performance         tables, plots and every round"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// The storage design: one journal against a file per partition
    #[command(after_help = "Example:\n  prom-bench journal --dir /var/tmp --json")]
    Journal(JournalArgs),
    /// The bus as a library: publish, dispatch, ack, replay, open
    #[command(after_help = "Examples:\n  prom-bench core --quick\n  prom-bench core --log-gb 10 --json")]
    Core(CoreArgs),
    /// The server: publish, consume, idle and busy connections, export
    #[command(after_help = "Examples:\n  prom-bench hub --quick\n  prom-bench hub --idle 50000 --prom ./prom")]
    Hub(HubArgs),
    /// The bus on MongoDB beside what a program would do with its driver
    #[command(after_help = "Example:\n  prom-bench mongo --rounds 3")]
    Mongo(MongoArgs),
    /// The server beside others (with the feature `peers`)
    #[command(after_help = "\
Examples:
  prom-bench compare --quick
  prom-bench compare --only publish,consume --peers prom,redis-everysec --rounds 3
  prom-bench compare --write docs/performance")]
    Compare(CompareArgs),
    /// The server with more and more events, topics, groups and connections
    #[command(after_help = "Example:\n  prom-bench growth --only events,topics --max-events 30_000_000")]
    Growth(GrowthArgs),
    /// The server when nothing happens, and when it starts
    #[command(after_help = "Example:\n  prom-bench rest --log-gb 10 --write docs/performance")]
    Rest(RestArgs),
    /// What schemas cost: judging, publishing, reading normalised, proving
    #[command(after_help = "\
Every normalised payload is compared with one made by hand. --quick reads 50 000 events.

Examples:
  prom-bench schema --quick
  prom-bench schema --events 10_000_000 --dir /var/tmp --json")]
    Schema(SchemaArgs),
    /// Dead letters: grouped, replayed with a canary that dies, healed by a transform
    #[command(after_help = "Examples:\n  prom-bench letters --quick\n  prom-bench letters --letters 1_000_000 --json")]
    Letters(LettersArgs),
    /// A long compacted topic: one key at a time that is over, and compaction beside publishing
    #[command(after_help = "\
Every answer about the past is compared with what was published. --quick has 1 000 000 events of 10 000 keys.
Examples:
  prom-bench past --quick
  prom-bench past --events 10_000_000 --keys 100_000 --dir /var/tmp")]
    Past(PastArgs),
    /// Flows from and into databases, each beside the raw driver
    #[command(after_help = "Examples:
  prom-bench flows --quick
  prom-bench flows --only projector --events 500_000 --rounds 5")]
    Flows(FlowsArgs),
    /// Fills a log and dies; started by `core`
    #[command(hide = true)]
    Fill(FillArgs),
}

#[derive(Debug, Args)]
pub struct JournalArgs {
    #[command(flatten)]
    pub measure: Measure,
    #[command(flatten)]
    pub files: Files,
}

#[derive(Debug, Args)]
pub struct CoreArgs {
    #[command(flatten)]
    pub measure: Measure,
    #[command(flatten)]
    pub files: Files,
    #[command(flatten)]
    pub log: LogSize,
}

#[derive(Debug, Args)]
pub struct HubArgs {
    #[command(flatten)]
    pub measure: Measure,
    #[command(flatten)]
    pub files: Files,
    #[command(flatten)]
    pub log: LogSize,
    #[command(flatten)]
    pub binary: PromBinary,
    /// Idle connections
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = number::<usize>)]
    pub idle: usize,
}

#[derive(Debug, Args)]
pub struct MongoArgs {
    #[command(flatten)]
    pub measure: Measure,
    /// Rounds, interleaved
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one())]
    pub rounds: usize,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    #[command(flatten)]
    pub measure: Measure,
    #[command(flatten)]
    pub files: Files,
    #[command(flatten)]
    pub binary: PromBinary,
    #[command(flatten)]
    pub peers: Peers,
    #[command(flatten)]
    pub write: WriteTo,
    /// Rounds of the main shapes, interleaved; the others have half as many
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one())]
    pub rounds: usize,
    /// What to measure [default: everything]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub only: Vec<Shape>,
}

#[derive(Debug, Args)]
pub struct GrowthArgs {
    #[command(flatten)]
    pub measure: Measure,
    #[command(flatten)]
    pub files: Files,
    #[command(flatten)]
    pub binary: PromBinary,
    #[command(flatten)]
    pub write: WriteTo,
    /// Rounds of each figure
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one())]
    pub rounds: usize,
    /// What grows [default: each of them]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub only: Vec<Axis>,
    /// The longest topic
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = number::<u64>)]
    pub max_events: u64,
}

#[derive(Debug, Args)]
pub struct RestArgs {
    #[command(flatten)]
    pub measure: Measure,
    #[command(flatten)]
    pub files: Files,
    #[command(flatten)]
    pub log: LogSize,
    #[command(flatten)]
    pub binary: PromBinary,
    #[command(flatten)]
    pub peers: Peers,
    #[command(flatten)]
    pub write: WriteTo,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    #[command(flatten)]
    pub measure: Measure,
    #[command(flatten)]
    pub files: Files,
    /// Rounds of publishing, interleaved
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one())]
    pub rounds: usize,
    /// Events that are read and proved
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = many_events)]
    pub events: u64,
}

#[derive(Debug, Args)]
pub struct LettersArgs {
    #[command(flatten)]
    pub measure: Measure,
    #[command(flatten)]
    pub files: Files,
    /// Letters that are written
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = many_events)]
    pub letters: u64,
}

#[derive(Debug, Args)]
pub struct FlowsArgs {
    #[command(flatten)]
    pub measure: Measure,
    #[command(flatten)]
    pub files: Files,
    /// Rows, changes and events that flow [default: 200 000]
    #[arg(long, value_name = "N", value_parser = many_events)]
    events: Option<u64>,
    /// Rounds, interleaved
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one())]
    pub rounds: usize,
    /// Only these
    #[arg(long, value_name = "FLOWS", value_delimiter = ',')]
    only: Vec<FlowName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FlowName {
    Outbox,
    Feed,
    Projector,
}

impl FlowsArgs {
    pub fn events(&self) -> u64 {
        self.events.unwrap_or(self.measure.full_or_quick(200_000, 20_000))
    }

    pub fn wants(&self, flow: FlowName) -> bool {
        self.only.is_empty() || self.only.contains(&flow)
    }
}

#[derive(Debug, Args)]
pub struct PastArgs {
    #[command(flatten)]
    pub measure: Measure,
    #[command(flatten)]
    pub files: Files,
    /// Events of the topic [default: 10 000 000]
    #[arg(long, value_name = "N", value_parser = many_events)]
    events: Option<u64>,
    /// Keys of the topic [default: 100 000]
    #[arg(long, value_name = "N", value_parser = many_events)]
    keys: Option<u64>,
}

impl PastArgs {
    pub fn events(&self) -> u64 {
        self.events.unwrap_or(self.measure.full_or_quick(10_000_000, 1_000_000))
    }

    pub fn keys(&self) -> u64 {
        self.keys.unwrap_or(self.measure.full_or_quick(100_000, 10_000))
    }
}

#[derive(Debug, Args)]
pub struct FillArgs {
    #[arg(long)]
    pub dir: PathBuf,
    #[command(flatten)]
    pub log: LogSize,
}

/// How thoroughly to measure, and for whom.
#[derive(Debug, Clone, Copy, Args)]
pub struct Measure {
    /// Shorter measurements: to see that everything works
    #[arg(long)]
    pub quick: bool,
    /// Machine-readable output
    #[arg(long)]
    pub json: bool,
}

impl Measure {
    /// One of two values, by how thoroughly to measure.
    pub fn full_or_quick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// How long one throughput measurement runs.
    pub fn span(&self) -> Duration {
        self.full_or_quick(Duration::from_secs(3), Duration::from_millis(500))
    }

    /// How many single operations a latency measurement makes.
    pub fn samples(&self) -> usize {
        self.full_or_quick(4_000, 500)
    }
}

#[derive(Debug, Args)]
pub struct Files {
    /// Where to put the temporary files: a folder on a real disk
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Leave the files there
    #[arg(long)]
    pub keep: bool,
}

#[derive(Debug, Clone, Copy, Args)]
pub struct LogSize {
    /// Size of the log that is written, opened and read, in gigabytes
    #[arg(long, value_name = "GB", default_value_t = 1.0)]
    pub log_gb: f64,
}

impl LogSize {
    pub fn bytes(&self) -> u64 {
        (self.log_gb * 1e9) as u64
    }
}

#[derive(Debug, Args)]
pub struct PromBinary {
    /// The hub's binary [default: `prom` beside this program]
    #[arg(long, value_name = "FILE")]
    pub prom: Option<PathBuf>,
}

impl PromBinary {
    pub fn path(&self) -> anyhow::Result<PathBuf> {
        match &self.prom {
            Some(path) => Ok(path.clone()),
            None => Ok(std::env::current_exe()?.with_file_name("prom")),
        }
    }
}

#[derive(Debug, Args)]
pub struct Peers {
    /// Servers that take part: prom, nats, redis, rabbitmq, or one of their settings [default: all]
    #[arg(long = "peers", value_name = "A,B", value_delimiter = ',')]
    names: Vec<String>,
}

impl Peers {
    /// By the id of a contender, such as `nats-default`.
    pub fn include(&self, id: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| id.starts_with(name.trim()))
    }
}

#[derive(Debug, Args)]
pub struct WriteTo {
    /// Write tables, plots and every round there, such as docs/performance
    #[arg(id = "write", long = "write", value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// 10000000 may be written 10_000_000.
fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.replace('_', "").parse().map_err(|_| "a number is needed".to_owned())
}

/// Of each version some, and the corrupted one.
fn many_events(text: &str) -> Result<u64, String> {
    number(text).and_then(|events| if events < 10 { Err("at least 10 are needed".to_owned()) } else { Ok(events) })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    pub fn parse(line: &str) -> Result<Command, String> {
        let cli = Cli::try_parse_from(std::iter::once("prom-bench").chain(line.split_whitespace()));
        cli.map(|cli| cli.command).map_err(|error| error.to_string())
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_are_read_in_any_order() {
        let line = "growth --max-events 30_000_000 --quick --only events,topics --write docs/performance";
        let Ok(Command::Growth(args)) = parse(line) else { panic!("{line}") };
        assert_eq!((args.max_events, args.measure.quick, args.rounds), (30_000_000, true, 3));
        assert_eq!(args.only, [Axis::Events, Axis::Topics]);
        assert_eq!(args.write.dir, Some("docs/performance".into()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, named) in [
            ("", "Usage"),
            ("compete", "compete"),
            ("compare --rounds many", "many"),
            ("compare --rounds 0", "0"),
            ("compare --write", "--write"),
            ("compare --fast 1", "--fast"),
            ("compare --only wishes", "wishes"),
            ("growth --only wishes", "connections"),
            ("schema --events 9", "10"),
        ] {
            let wrong = parse(line).unwrap_err();
            assert!(wrong.contains(named), "{line}: {wrong}");
        }
    }

    #[test]
    fn peers_are_named_by_server_or_by_setting() {
        let Ok(Command::Rest(args)) = parse("rest --peers prom,nats-default") else { panic!() };
        let included = ["prom-plain", "nats-default", "nats-durable", "redis-always"].map(|id| args.peers.include(id));
        assert_eq!(included, [true, true, false, false]);
    }
}
