//! The languages: each reads a text with a real parser and makes a record of it.

mod ignore;
mod python;
mod rust;
mod syntax_tree;
mod typescript;

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::record::FileRecord;

/// What a source file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SourceLanguage {
    /// With its dialects: TSX, JavaScript, JSX.
    TypeScript,
    Rust,
    Python,
}

impl SourceLanguage {
    /// By the ending of the file's name.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "ts" | "tsx" | "mts" | "cts" | "js" | "jsx" | "mjs" | "cjs" => Some(Self::TypeScript),
            "rs" => Some(Self::Rust),
            "py" | "pyi" => Some(Self::Python),
            _ => None,
        }
    }
}

/// Names of methods and functions whose calls are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallNames(pub BTreeSet<String>);

impl CallNames {
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// Reads a text. What cannot be read is part of the record; nothing here fails.
pub fn read(language: SourceLanguage, path: &Path, text: &str, names: &CallNames) -> FileRecord {
    match language {
        SourceLanguage::TypeScript => typescript::read(path, text, names),
        SourceLanguage::Rust => rust::read(text, names),
        SourceLanguage::Python => python::read(text, names),
    }
}
