//! Modules of Rust: `crate`, `self`, `super`, `mod` files, and the other crates of the tree.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{ModuleTarget, SourceModule, SourceTree};
use crate::record::IN_FILE;

/// The crates of the tree, by the name that code uses.
#[derive(Debug, Default)]
pub(super) struct Crates {
    roots: HashMap<String, PathBuf>,
}

impl Crates {
    pub(super) fn read(manifests: &[PathBuf]) -> Self {
        let mut roots = HashMap::new();
        for manifest in manifests {
            let text = std::fs::read_to_string(manifest).unwrap_or_default();
            let name = value_in(&text, "[lib]", "name").or_else(|| value_in(&text, "[package]", "name"));
            let file = value_in(&text, "[lib]", "path").unwrap_or("src/lib.rs");
            let root = manifest.parent().map(|folder| folder.join(file)).filter(|root| root.is_file());
            if let (Some(name), Some(root)) = (name, root) {
                roots.insert(name.replace('-', "_"), root);
            }
        }
        Self { roots }
    }
}

/// `key = "value"` in a section of a manifest.
fn value_in<'t>(manifest: &'t str, section: &str, key: &str) -> Option<&'t str> {
    let lines = manifest.lines().map(str::trim).skip_while(|line| *line != section).skip(1);
    let mut lines = lines.take_while(|line| !line.starts_with('['));
    lines.find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('=')?.split('"').nth(1))
}

impl SourceTree<'_> {
    /// `crate`, `self`, `super`, `mod:name`, `file:path`, or the name of a crate.
    pub(super) fn rust_target(&self, from: &SourceModule, name: &str) -> ModuleTarget {
        let found = match name {
            "crate" => crate_root(&from.path),
            "self" => Some(from.path.clone()),
            "super" => parent(&from.path),
            name if name.starts_with(IN_FILE) => {
                let file = from.path.parent().map(|folder| folder.join(&name[IN_FILE.len()..]));
                file.filter(|file| file.is_file())
            }
            name => match name.strip_prefix("mod:") {
                Some(child) => child_file(&from.path, child),
                None => {
                    let root = self.crates.roots.get(name).cloned();
                    return root.map_or(ModuleTarget::Foreign, |root| ModuleTarget::File(root, Vec::new()));
                }
            },
        };
        found.map_or(ModuleTarget::Missing, |path| ModuleTarget::File(path, Vec::new()))
    }
}

/// The folder in which the modules below a file are.
fn folder_of(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    match path.file_stem()?.to_str()? {
        "mod" | "lib" | "main" => Some(folder.to_path_buf()),
        stem => Some(folder.join(stem)),
    }
}

fn child_file(path: &Path, child: &str) -> Option<PathBuf> {
    // A file directly below `tests`, `examples` or `src/bin` is a crate of its own.
    let folders = [folder_of(path), path.parent().map(Path::to_path_buf)];
    let files = folders
        .into_iter()
        .flatten()
        .flat_map(|folder| [folder.join(child).with_extension("rs"), folder.join(child).join("mod.rs")]);
    files.into_iter().find(|file| file.is_file() && file != path)
}

fn parent(path: &Path) -> Option<PathBuf> {
    let folder = match path.file_stem()?.to_str()? {
        "mod" => path.parent()?.parent()?.to_path_buf(),
        "lib" | "main" => return Some(path.to_path_buf()),
        _ => path.parent()?.to_path_buf(),
    };
    let beside = folder.with_extension("rs");
    let files = [folder.join("mod.rs"), folder.join("lib.rs"), folder.join("main.rs"), beside];
    files.into_iter().find(|file| file.is_file())
}

fn crate_root(path: &Path) -> Option<PathBuf> {
    let mut folder = path.parent();
    while let Some(at) = folder {
        for root in ["lib.rs", "main.rs"] {
            let file = at.join(root);
            if file.is_file() {
                return Some(file);
            }
        }
        if at.join("Cargo.toml").is_file() {
            // A crate of its own: `tests/a.rs`, or `tests/a/main.rs`, which was found above.
            return Some(path.to_path_buf());
        }
        folder = at.parent();
    }
    None
}
