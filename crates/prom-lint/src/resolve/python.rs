//! Modules of Python: dotted names, from the folder of the file upwards.

use std::path::{Path, PathBuf};

use super::{ModuleTarget, SourceTree};

impl SourceTree<'_> {
    /// `app.topics`, `.topics`, `..shared.topics`.
    pub(super) fn python_target(&self, from: &Path, name: &str) -> ModuleTarget {
        let dots = name.bytes().take_while(|byte| *byte == b'.').count();
        let parts: Vec<&str> = name[dots..].split('.').filter(|part| !part.is_empty()).collect();
        let mut folder = from.parent();
        if dots > 0 {
            for _ in 1..dots {
                folder = folder.and_then(Path::parent);
            }
            let found = folder.and_then(|folder| file_of(folder, &parts));
            return found.map_or(ModuleTarget::Missing, |path| ModuleTarget::File(path, Vec::new()));
        }
        while let Some(at) = folder.filter(|at| at.starts_with(&self.settings.root)) {
            for source in [at.to_path_buf(), at.join("src")] {
                if let Some(path) = file_of(&source, &parts) {
                    return ModuleTarget::File(path, Vec::new());
                }
            }
            folder = at.parent();
        }
        ModuleTarget::Foreign
    }

    /// A module inside a package: `topics` of `app/__init__.py`.
    pub(super) fn python_submodule(&self, package: &Path, name: &str) -> Option<PathBuf> {
        if package.file_stem()? != "__init__" {
            return None;
        }
        file_of(package.parent()?, &[name])
    }
}

fn file_of(folder: &Path, parts: &[&str]) -> Option<PathBuf> {
    let path = parts.iter().fold(folder.to_path_buf(), |path, part| path.join(part));
    if !parts.is_empty() {
        let module = folder.join(parts.join("/") + ".py");
        if module.is_file() {
            return Some(module);
        }
    }
    let package = path.join("__init__.py");
    (package.is_file() || has_modules(&path)).then_some(package)
}

/// A folder of modules is a package without `__init__.py` too.
fn has_modules(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|ending| ending == "py"))
}
