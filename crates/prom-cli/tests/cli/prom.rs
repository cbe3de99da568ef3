//! Runs the binary in an environment of its own.

use std::path::Path;
use std::process::{Command, Output};

/// With none of the variables that the binary reads, and in an empty folder unless the test names one.
pub fn prom(arguments: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    prom_in(folder.path(), arguments, &[])
}

pub fn prom_in(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_prom"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    Ran::of(output)
}

/// What came of it.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code().expect("it was not ended by a signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }
}
