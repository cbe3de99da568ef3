//! Where the repository is and which files are in it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The endings of files that people write.
const TEXT: [&str; 14] = [
    ".rs",
    ".md",
    ".toml",
    ".txt",
    ".json",
    ".jsonl",
    ".yml",
    ".sh",
    ".ts",
    ".js",
    ".mjs",
    ".sibilant",
    ".gitignore",
    ".ci/run",
];

/// A file of the repository.
pub struct File {
    /// Relative to the root, with `/` between the parts.
    pub path: String,
    pub text: String,
}

pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Where a build is committed: its own test compares it with its sources.
const BUILT: &str = "dashboard/dist/";

fn is_written_by_people(path: &str) -> bool {
    !path.starts_with(BUILT) && TEXT.iter().any(|end| path.ends_with(end))
}

/// Every text file that git has or would take, in the order of their paths.
pub fn files() -> Result<Vec<File>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let listed = git.output().context("cannot start git, which lists the files")?;
    ensure!(listed.status.success(), "git lists no files: {}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8_lossy(&listed.stdout);
    let mut files = Vec::new();
    for path in listed.split_terminator('\0').filter(|path| is_written_by_people(path)) {
        match std::fs::read_to_string(root().join(path)) {
            // Removed, and git was not told yet.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            text => files.push(File { path: path.to_owned(), text: text.with_context(|| format!("reading {path}"))? }),
        }
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(files)
}
