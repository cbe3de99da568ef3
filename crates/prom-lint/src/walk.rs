//! The files of a run: those below the given paths that git would not ignore and the configuration does not exclude.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::overrides::OverrideBuilder;
use ignore::{WalkBuilder, WalkState};

use crate::front::SourceLanguage;
use crate::settings::LintSettings;

/// What was found.
#[derive(Debug, Default)]
pub struct WalkedFiles {
    pub sources: Vec<(PathBuf, SourceLanguage)>,
    /// Every `Cargo.toml`.
    pub manifests: Vec<PathBuf>,
    /// Folders that could not be read, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// Why the walk cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// Correct the pattern under `exclude`.
    #[error("`exclude`: {0}")]
    Pattern(ignore::Error),
}

/// Installed packages are not the project's code.
const SKIPPED: &str = "node_modules";

pub fn walk(settings: &LintSettings, paths: &[PathBuf]) -> Result<WalkedFiles, WalkError> {
    let Some((first, rest)) = paths.split_first() else {
        return Ok(WalkedFiles::default());
    };
    let mut overrides = OverrideBuilder::new(&settings.root);
    for pattern in &settings.exclude {
        overrides.add(&format!("!{pattern}")).map_err(WalkError::Pattern)?;
    }
    let mut builder = WalkBuilder::new(first);
    rest.iter().for_each(|path| {
        builder.add(path);
    });
    builder.overrides(overrides.build().map_err(WalkError::Pattern)?);
    builder.require_git(false).threads(threads());
    builder.filter_entry(|entry| entry.depth() == 0 || entry.file_name() != SKIPPED);
    let walked = Mutex::new(WalkedFiles::default());
    builder.build_parallel().run(|| {
        Box::new(|entry| {
            let mut walked = walked.lock().unwrap_or_else(PoisonError::into_inner);
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    add(&mut walked, entry.into_path())
                }
                Ok(_) => {}
                Err(error) => walked.unreadable.push((PathBuf::new(), error.to_string())),
            }
            WalkState::Continue
        })
    });
    let mut walked = walked.into_inner().unwrap_or_else(PoisonError::into_inner);
    walked.sources.sort();
    walked.sources.dedup();
    walked.manifests.sort();
    Ok(walked)
}

fn add(walked: &mut WalkedFiles, path: PathBuf) {
    if path.file_name().is_some_and(|name| name == "Cargo.toml") {
        walked.manifests.push(path);
    } else if let Some(language) = SourceLanguage::of(&path) {
        walked.sources.push((path, language));
    }
}

pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(16)
}

/// Whether the paths hold the whole project.
pub fn is_whole(root: &Path, paths: &[PathBuf]) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let root = real(root);
    paths.iter().any(|path| root.starts_with(real(path)))
}
