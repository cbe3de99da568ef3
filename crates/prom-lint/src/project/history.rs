//! The schemas of another revision, by git, so that a pull request is judged by what it changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use prom_schema::SchemaSettings;

use crate::settings::DeclaredStep;

/// Files of the folder as they were.
#[derive(Debug, Default)]
pub struct SchemaHistory {
    /// For messages.
    pub revision: String,
    /// How schemas were judged.
    pub defaults: SchemaSettings,
    /// Steps that the configuration declared.
    pub steps: Vec<DeclaredStep>,
    /// By the path that the file has now.
    files: BTreeMap<PathBuf, String>,
}

/// A file or a folder: where it was, and where it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryPath {
    pub then: PathBuf,
    pub now: PathBuf,
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
    /// Reads what folders or files held in a revision.
    pub fn read(revision: &str, paths: &[HistoryPath]) -> Result<Self, HistoryError> {
        if revision.starts_with('-') {
            return Err(HistoryError::Refused(format!("{revision:?} is an option, not a revision")));
        }
        let mut history = Self { revision: revision.to_owned(), ..Self::default() };
        for path in paths {
            history.files.extend(files_at(revision, path)?);
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

fn files_at(revision: &str, path: &HistoryPath) -> Result<Vec<(PathBuf, String)>, HistoryError> {
    let Some(folder) = path.then.ancestors().find(|folder| folder.is_dir()) else { return Ok(Vec::new()) };
    let top = git(folder, &["rev-parse", "--show-toplevel"])?;
    let top = PathBuf::from(top.trim_end());
    let commit = git(&top, &["rev-parse", "--verify", &format!("{revision}^{{commit}}")])?;
    let commit = commit.trim_end();
    let real = path.then.canonicalize().unwrap_or_else(|_| path.then.clone());
    let Ok(below) = real.strip_prefix(&top) else { return Ok(Vec::new()) };
    let below = below.to_string_lossy().into_owned();
    let listed = git(&top, &["ls-tree", "-r", "-z", "--name-only", commit, "--", &below])?;
    let mut files = Vec::new();
    for name in listed.split_terminator('\0') {
        let text = git(&top, &["cat-file", "blob", &format!("{commit}:{name}")])?;
        let rest = Path::new(name).strip_prefix(&below).unwrap_or(Path::new(""));
        let now = if rest.as_os_str().is_empty() { path.now.clone() } else { path.now.join(rest) };
        files.push((now, text));
    }
    Ok(files)
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String, HistoryError> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().map_err(HistoryError::NoGit)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(HistoryError::Refused(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}
