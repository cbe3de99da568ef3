//! From a name to what it stands for, across files. Files are read when something needs them, each once.

mod evaluate;
mod modules;
mod payload;
mod python;
mod rust;
mod texts;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use evaluate::{Meaning, NameResolver, ReceiverKind};
pub use modules::ModuleTarget;
pub use payload::PartialPayload;
pub use texts::{KnownText, Texts};

use crate::front::{self, CallNames, SourceLanguage};
use crate::limits;
use crate::record::{FileRecord, RecordCache};
use crate::settings::{ClientModule, LintSettings};

/// A file with its record.
#[derive(Debug)]
pub struct SourceModule {
    pub path: PathBuf,
    pub language: SourceLanguage,
    pub record: FileRecord,
}

type Slot = Arc<OnceLock<Option<Arc<SourceModule>>>>;

/// All files that a run has looked at.
pub struct SourceTree<'s> {
    pub(crate) settings: &'s LintSettings,
    pub(crate) clients: Vec<ClientModule>,
    names: CallNames,
    cache: &'s RecordCache,
    slots: Mutex<HashMap<PathBuf, Slot>>,
    javascript: oxc_resolver::Resolver,
    crates: rust::Crates,
}

impl<'s> SourceTree<'s> {
    /// `manifests` are the `Cargo.toml` of the tree.
    pub fn new(settings: &'s LintSettings, cache: &'s RecordCache, manifests: &[PathBuf]) -> Self {
        Self {
            settings,
            clients: settings.client_modules(),
            names: settings.call_names(),
            cache,
            slots: Mutex::new(HashMap::new()),
            javascript: modules::javascript(),
            crates: rust::Crates::read(manifests),
        }
    }

    /// The module in a file whose text is at hand.
    pub fn module_of_text(&self, path: &Path, language: SourceLanguage, text: &str) -> Option<Arc<SourceModule>> {
        let slot = self.slot(path);
        slot.get_or_init(|| Some(self.read_text(path, language, text))).clone()
    }

    /// The module in a file; `None` if it cannot be read or is of no language that we know.
    pub fn module(&self, path: &Path) -> Option<Arc<SourceModule>> {
        let slot = self.slot(path);
        slot.get_or_init(|| {
            let language = SourceLanguage::of(path)?;
            if language == SourceLanguage::Python && path.ends_with("__init__.py") && !path.exists() {
                let (path, record) = (path.to_owned(), FileRecord::default());
                return Some(Arc::new(SourceModule { path, language, record }));
            }
            let size = std::fs::metadata(path).ok()?.len();
            let text = if size <= limits::FILE_BYTES { std::fs::read_to_string(path).ok()? } else { return None };
            Some(self.read_text(path, language, &text))
        })
        .clone()
    }

    fn read_text(&self, path: &Path, language: SourceLanguage, text: &str) -> Arc<SourceModule> {
        let record = self.cache.get_or_read(path, text, || front::read(language, path, text, &self.names));
        Arc::new(SourceModule { path: path.to_owned(), language, record })
    }

    fn slot(&self, path: &Path) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        match slots.get(path) {
            Some(slot) => slot.clone(),
            None => slots.entry(path.to_owned()).or_default().clone(),
        }
    }
}
