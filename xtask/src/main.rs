//! The repository's own commands. `cargo xtask test` is all that CI runs.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool speaks by printing")]

mod codes;
mod debian;
mod generate;
mod http_types;
mod instructions;
mod postgres;
mod repository;
mod run;
mod sdk;
mod test;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test [--quick]   everything CI runs; --quick leaves out documentation, dependencies, SDKs and instructions
cargo xtask sdk              the tests of the clients in sdk/, one of the steps of `test`
cargo xtask tidy             the rules of this repository that compilers do not know
cargo xtask gen [--check]    write the generated files; --check fails if those that xtask writes are not current
cargo xtask instructions [--store]
                             count the instructions of an event and compare with the baseline; --store renews it";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["test"] => test::run(test::Extent::Full),
        ["test", "--quick"] => test::run(test::Extent::Quick),
        ["sdk"] => sdk::test().map(tell),
        ["tidy"] => tidy::run(),
        ["gen"] => generate::write(),
        ["gen", "--check"] => generate::check(),
        ["instructions"] => instructions::check().map(tell),
        ["instructions", "--store"] => instructions::store(),
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

fn tell(skipped: run::Skipped) {
    skipped.into_iter().for_each(|reason| println!("skipped: {reason}"));
}
