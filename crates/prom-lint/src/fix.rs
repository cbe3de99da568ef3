//! `--fix`: the edits of findings, applied to their files.
//!
//! An edit is only applied to the text that it was made for, and none that overlaps another one. A file is replaced as a
//! whole, so it is never half written.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::finding::{Edit, Finding};

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fixed {
    pub edits: u64,
    pub files: u64,
}

/// A file that could not be changed.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", .path.display())]
pub struct FixError {
    path: PathBuf,
    source: io::Error,
}

/// Applies what can be applied. Files outside of `root` are left alone.
pub fn apply(findings: &[Finding], root: &Path) -> Result<Fixed, FixError> {
    let mut by_file: BTreeMap<&Path, Vec<&Edit>> = BTreeMap::new();
    for edit in findings.iter().filter_map(|finding| finding.edit.as_ref()) {
        if edit.place.path.starts_with(root) {
            by_file.entry(&edit.place.path).or_default().push(edit);
        }
    }
    let mut fixed = Fixed::default();
    for (path, mut edits) in by_file {
        let failed = |source| FixError { path: path.to_path_buf(), source };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        edits.sort_by_key(|edit| (edit.place.span, &edit.text));
        edits.dedup();
        let (changed, count) = edited(&text, &edits);
        if count > 0 {
            replace(path, &changed).map_err(failed)?;
            fixed.edits += count;
            fixed.files += 1;
        }
    }
    Ok(fixed)
}

fn edited(text: &str, edits: &[&Edit]) -> (String, u64) {
    let (mut changed, mut at, mut count) = (String::with_capacity(text.len()), 0, 0);
    for edit in edits {
        let (start, end) = (edit.place.span.start as usize, edit.place.span.end as usize);
        if let Some(between) = text.get(at..start).filter(|_| start >= at && text.is_char_boundary(end.min(text.len())))
        {
            changed.push_str(between);
            changed.push_str(&edit.text);
            at = end.min(text.len());
            count += 1;
        }
    }
    changed.push_str(&text[at..]);
    (changed, count)
}

/// Under another name first, with the rights of the old file.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let real = path.canonicalize()?;
    let rights = std::fs::metadata(&real)?.permissions();
    let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let unfinished = real.with_file_name(format!(".{name}.{}", std::process::id()));
    std::fs::write(&unfinished, text)?;
    std::fs::set_permissions(&unfinished, rights)?;
    std::fs::rename(&unfinished, &real)
}
