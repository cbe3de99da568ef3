//! The repository's own commands. `cargo xtask test` is all that CI runs.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool speaks by printing")]

mod codes;
mod generate;
mod repository;
mod run;
mod test;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test [--quick]   everything CI runs; --quick leaves out the documentation and the dependency check
cargo xtask tidy             the rules of the house that compilers do not know
cargo xtask gen [--check]    write the generated files; --check fails if they are not current";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["test"] => test::run(test::Extent::Full),
        ["test", "--quick"] => test::run(test::Extent::Quick),
        ["tidy"] => tidy::run(),
        ["gen"] => generate::write(),
        ["gen", "--check"] => generate::check(),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
