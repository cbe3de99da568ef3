//! The command line: what can be typed, and where it goes.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use serde::de::DeserializeOwned;

use crate::command::{
    At, Bench, Codegen, Completions, ConfigCommand, Cursor, CutoverCommand, DeadLetters, Demo, DiffCommand, Export,
    FeedsCommand, Fsck, GroupsCommand, Import, Lag, Lint, OutboxCommand, Partitions, ProjectionsCommand, Publish,
    ReplayCommand, SchemaCommand, Search, Serve, Skip, SnapshotCommand, Subscribe, Token, TopicsCommand, Trace, Why,
};
use crate::exit::{CommandResult, Failure};
use crate::hub::{Answer, HubClient};
use crate::output::{Output, OutputFormat};
use crate::secret_file;

/// A durable event bus: the hub, and every command to work with it
#[derive(Debug, Parser)]
#[command(
    name = "prom",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = AFTER_HELP
)]
pub struct Cli {
    #[command(flatten)]
    pub shared: SharedOptions,
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  prom serve                               start a hub on this machine
  prom pub hello '{\"n\":1}'                 publish an event
  prom sub hello --from earliest           print all events of a topic, and new ones

Exit codes: 0 done, 1 the answer is no, 2 wrong usage, 3 the hub cannot be reached, 4 refused";

#[derive(Debug, Args)]
#[command(next_help_heading = "Shared options")]
pub struct SharedOptions {
    /// Address of the hub
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "PROM_URL",
        hide_env_values = true,
        default_value = "http://127.0.0.1:8090"
    )]
    pub url: String,
    /// Token to authenticate with
    #[arg(long, global = true, value_name = "TOKEN", env = "PROM_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// File with the token; wins over --token
    #[arg(long, global = true, value_name = "FILE", env = "PROM_TOKEN_FILE", hide_env_values = true)]
    pub token_file: Option<PathBuf>,
    /// PEM file of certificates to trust besides those of this machine
    #[arg(long, global = true, value_name = "FILE", env = "PROM_CA", hide_env_values = true)]
    pub ca: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Serve(Serve),
    #[command(name = "pub")]
    Publish(Publish),
    #[command(name = "sub")]
    Subscribe(Subscribe),
    Topics(TopicsCommand),
    Groups(GroupsCommand),
    Lag(Lag),
    Partitions(Partitions),
    Cursor(Cursor),
    Skip(Skip),
    Why(Why),
    Schema(SchemaCommand),
    Cutover(CutoverCommand),
    Search(Search),
    Trace(Trace),
    Dlq(DeadLetters),
    Outbox(OutboxCommand),
    Feeds(FeedsCommand),
    Projections(ProjectionsCommand),
    Replay(ReplayCommand),
    At(At),
    Diff(DiffCommand),
    Snapshot(SnapshotCommand),
    Export(Export),
    Import(Import),
    Codegen(Codegen),
    Lint(Lint),
    Token(Token),
    Config(ConfigCommand),
    Fsck(Fsck),
    Bench(Bench),
    Demo(Demo),
    Completions(Completions),
}

/// What commands share: the hub to ask, and how to print.
pub struct Context {
    shared: SharedOptions,
    pub output: Output,
}

impl Context {
    pub fn hub(&self) -> Result<HubClient, Failure> {
        self.hub_at(&self.shared.url)
    }

    /// A hub that a command names by a flag of its own.
    pub fn hub_at(&self, url: &str) -> Result<HubClient, Failure> {
        let token = match &self.shared.token_file {
            Some(file) => Some(secret_file::read(file, "the token")?),
            None => self.shared.token.clone(),
        };
        HubClient::new(url, token, self.shared.ca.clone())
    }

    /// Prints an answer: for machines as the hub wrote it, for people as `show` does.
    pub fn show<T: DeserializeOwned>(&self, answer: &Answer, show: impl FnOnce(T) -> CommandResult) -> CommandResult {
        if self.output.is_for_machines() {
            return self.output.line(answer.text.trim_end());
        }
        show(answer.parse()?)
    }
}

impl Cli {
    pub async fn run(self) -> CommandResult {
        let format = if self.shared.json { OutputFormat::Machines } else { OutputFormat::People };
        let context = Context { shared: self.shared, output: Output::new(format) };
        match self.command {
            Command::Serve(serve) => serve.run().await,
            Command::Publish(publish) => publish.run(&context).await,
            Command::Subscribe(subscribe) => subscribe.run(&context).await,
            Command::Topics(topics) => topics.run(&context).await,
            Command::Groups(groups) => groups.run(&context).await,
            Command::Lag(lag) => lag.run(&context).await,
            Command::Partitions(partitions) => partitions.run(&context).await,
            Command::Cursor(cursor) => cursor.run(&context).await,
            Command::Skip(skip) => skip.run(&context).await,
            Command::Why(why) => why.run(&context).await,
            Command::Schema(schema) => schema.run(&context).await,
            Command::Cutover(cutover) => cutover.run(&context).await,
            Command::Search(search) => search.run(&context).await,
            Command::Trace(trace) => trace.run(&context).await,
            Command::Dlq(letters) => letters.run(&context).await,
            Command::Outbox(outbox) => outbox.run(&context).await,
            Command::Feeds(feeds) => feeds.run(&context).await,
            Command::Projections(projections) => projections.run(&context).await,
            Command::Replay(replay) => replay.run(&context).await,
            Command::At(at) => at.run(&context).await,
            Command::Diff(diff) => diff.run(&context).await,
            Command::Snapshot(snapshot) => snapshot.run(&context).await,
            Command::Export(export) => export.run(&context).await,
            Command::Import(import) => import.run(&context).await,
            Command::Codegen(codegen) => codegen.run(&context).await,
            Command::Lint(lint) => lint.run(&context).await,
            Command::Token(token) => token.run(&context),
            Command::Config(config) => config.run(&context),
            Command::Fsck(fsck) => fsck.run(&context),
            Command::Bench(bench) => bench.run(&context).await,
            Command::Demo(demo) => demo.run().await,
            Command::Completions(completions) => completions.run(&context),
        }
    }
}
