//! `prom schema`: the schema registry, one file per verb.

mod check;
mod delete;
mod diff;
pub mod explain;
mod ls;
mod prove;
mod register;
mod set;
mod show;
mod upcast;

mod file;
mod known;
mod local;
mod settings;

use clap::{Args, Subcommand};

use crate::cli::Context;
use crate::exit::CommandResult;

/// List, check, prove, register and change the schemas of topics
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom schema ls
  prom schema check orders.placed schemas/orders.placed/v2.json
  prom schema register orders.placed schemas/orders.placed/v2.json")]
pub struct SchemaCommand {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    Ls(ls::Ls),
    Show(show::Show),
    Check(check::Check),
    Prove(prove::ProveCommand),
    Register(register::Register),
    Diff(diff::Diff),
    Explain(explain::Explain),
    Set(set::Set),
    Upcast(upcast::Upcast),
    Delete(delete::Delete),
}

impl SchemaCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        match self.what.unwrap_or(What::Ls(ls::Ls {})) {
            What::Ls(ls) => ls.run(context).await,
            What::Show(show) => show.run(context).await,
            What::Check(check) => check.run(context).await,
            What::Prove(prove) => prove.run(context).await,
            What::Register(register) => register.run(context).await,
            What::Diff(diff) => diff.run(context).await,
            What::Explain(explain) => explain.run(context),
            What::Set(set) => set.run(context).await,
            What::Upcast(upcast) => upcast.run(context).await,
            What::Delete(delete) => delete.run(context).await,
        }
    }
}
