//! The schemas of another revision, by git, so that a pull request is judged by what it changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the folder as they were.
#[derive(Debug, Default)]
pub struct SchemaHistory {
    /// For messages.
    pub revision: String,
    /// By the path that the file has now.
    files: BTreeMap<PathBuf, String>,
}

/// Why the other revision cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Install git, or leave `--against` out.
    #[error("git cannot be started: {0}")]
    NoGit(std::io::Error),
    /// Name a revision that is there: a shallow clone has few.
    #[error("git says: {0}")]
    Refused(String),
}

impl SchemaHistory {
    /// Reads what a folder or a file held in a revision.
    pub fn read(revision: &str, paths: &[PathBuf]) -> Result<Self, HistoryError> {
        if revision.starts_with('-') {
            return Err(HistoryError::Refused(format!("{revision:?} is an option, not a revision")));
        }
        let mut history = Self { revision: revision.to_owned(), files: BTreeMap::new() };
        for path in paths {
            let Some(folder) = path.ancestors().find(|folder| folder.is_dir()) else { continue };
            let top = git(folder, &["rev-parse", "--show-toplevel"])?;
            let top = PathBuf::from(top.trim_end());
            let commit = git(&top, &["rev-parse", "--verify", &format!("{revision}^{{commit}}")])?;
            let commit = commit.trim_end();
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            let Ok(below) = real.strip_prefix(&top) else { continue };
            let below = below.to_string_lossy().into_owned();
            let listed = git(&top, &["ls-tree", "-r", "-z", "--name-only", commit, "--", &below])?;
            for name in listed.split_terminator('\0') {
                let text = git(&top, &["cat-file", "blob", &format!("{commit}:{name}")])?;
                let rest = Path::new(name).strip_prefix(&below).unwrap_or(Path::new(""));
                let now = if rest.as_os_str().is_empty() { path.clone() } else { path.join(rest) };
                history.files.insert(now, text);
            }
        }
        Ok(history)
    }

    /// The text that a file had.
    pub fn text(&self, path: &Path) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String, HistoryError> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().map_err(HistoryError::NoGit)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(HistoryError::Refused(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}
