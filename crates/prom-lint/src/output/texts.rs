//! Texts of files with findings, read once, for lines and excerpts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::finding::{LineColumn, LineIndex, SourcePlace};

pub struct SourceTexts {
    root: PathBuf,
    texts: HashMap<PathBuf, (String, LineIndex)>,
}

impl SourceTexts {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), texts: HashMap::new() }
    }

    /// From the root, with `/` between the parts.
    pub fn shown(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<String> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let shown = parts.join("/").replace("//", "/");
        if shown.is_empty() { ".".to_owned() } else { shown }
    }

    /// The text of a file; empty for a folder or a file that is gone.
    pub fn text(&mut self, path: &Path) -> &(String, LineIndex) {
        self.texts.entry(path.to_path_buf()).or_insert_with(|| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let lines = LineIndex::new(&text);
            (text, lines)
        })
    }

    /// Where a place begins and ends.
    pub fn range(&mut self, place: &SourcePlace) -> (LineColumn, LineColumn) {
        let (text, lines) = self.text(&place.path);
        (lines.place(text, place.span.start), lines.place(text, place.span.end.max(place.span.start)))
    }
}
