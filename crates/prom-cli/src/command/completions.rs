//! `prom completions`: what a shell needs to complete commands and flags.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::{Cli, Context};
use crate::exit::CommandResult;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom completions bash > ~/.local/share/bash-completion/completions/prom
  prom completions zsh > ~/.zfunc/_prom
  prom completions fish > ~/.config/fish/completions/prom.fish")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(self, context: &Context) -> CommandResult {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "prom", &mut script);
        context.output.text(&String::from_utf8_lossy(&script))
    }
}
