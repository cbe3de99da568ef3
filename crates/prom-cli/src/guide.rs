//! The parts of the guide that would drift: the help of every command, the default file, and the rules of the comparison of
//! schemas. They stand in `docs/guide`
//! between two marks; a test compares. `PROM_WRITE_GUIDE=1 cargo test -p prom-cli guide` rewrites them.

use std::path::PathBuf;

use clap::{Command, CommandFactory};

use prom_schema::compat::CompatRule;

use crate::cli::Cli;
use crate::command::explain;
use crate::config::default_text;

const BEGIN: &str = "<!-- written by a test of prom-cli: begin -->\n";
const END: &str = "<!-- written by a test of prom-cli: end -->\n";

#[test]
fn the_guide_shows_the_help_of_every_command() {
    check("cli.md", &help_of_all());
}

#[test]
fn the_guide_shows_the_default_file() {
    check("configuration.md", &format!("```toml\n{}```\n", default_text()));
}

#[test]
fn the_guide_explains_every_rule_of_the_comparison() {
    let sections: Vec<String> = CompatRule::ALL.map(|rule| explain::section(rule).unwrap()).into();
    check("schema-rules.md", &sections.join("\n"));
}

#[test]
fn the_guide_explains_every_rule_of_the_linter() {
    check("lint-rules.md", &prom_lint::pages());
}

fn check(file: &str, current: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(BEGIN).expect("the first mark is missing");
    let (written, tail) = rest.split_once(END).expect("the second mark is missing");
    if std::env::var_os("PROM_WRITE_GUIDE").is_some() {
        return std::fs::write(&path, format!("{head}{BEGIN}{current}{END}{tail}")).unwrap();
    }
    assert!(
        written == current,
        "docs/guide/{file} is not current; run PROM_WRITE_GUIDE=1 cargo test -p prom-cli guide"
    );
}

fn help_of_all() -> String {
    let mut root = Cli::command().term_width(100);
    root.build();
    let mut text = String::new();
    let mut names: Vec<Vec<String>> = Vec::new();
    collect(&root, &mut Vec::new(), &mut names);
    for name in names {
        let command = name.iter().fold(&mut root, |command, word| command.find_subcommand_mut(word).unwrap());
        let help = command.clone().term_width(100).mut_args(hide_shared).render_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let level = "#".repeat(name.len() + 2);
        text.push_str(&format!("{level} prom {}\n\n```text\n{}\n```\n\n", name.join(" "), help.join("\n").trim()));
    }
    text
}

fn collect(command: &Command, path: &mut Vec<String>, names: &mut Vec<Vec<String>>) {
    for below in command.get_subcommands() {
        path.push(below.get_name().to_owned());
        names.push(path.clone());
        collect(below, path, names);
        path.pop();
    }
}

/// The page describes them once, above.
fn hide_shared(argument: clap::Arg) -> clap::Arg {
    let shared = ["url", "token", "token_file", "ca", "json", "help", "version"].contains(&argument.get_id().as_str());
    argument.hide(shared)
}
