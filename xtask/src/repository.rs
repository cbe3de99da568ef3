//! Where the repository is and which files are in it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folders with built or fetched files.
const NOT_OURS: [&str; 7] = ["target", ".git", "node_modules", "dist", "build", "prom-data", "proptest-regressions"];

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

/// Every text file, in the order of their paths.
pub fn files() -> Result<Vec<File>> {
    let root = root();
    let mut files = Vec::new();
    collect(&root, &root, &mut files)?;
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(files)
}

/// Scratch folders of measurements come and go meanwhile. A file that is gone was not part of the repository.
fn collect(root: &Path, folder: &Path, files: &mut Vec<File>) -> Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("reading {}", folder.display()))?,
    };
    for entry in entries {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let ours = !NOT_OURS.iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && ours {
            collect(root, &path, files)?;
            continue;
        }
        let relative = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        if kind.is_file() && TEXT.iter().any(|end| relative.ends_with(end)) {
            let text = match std::fs::read_to_string(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                text => text.with_context(|| format!("reading {relative}"))?,
            };
            files.push(File { path: relative, text });
        }
    }
    Ok(())
}
