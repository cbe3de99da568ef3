//! Where a module is that a file names: one of ours, a file of the project, or somebody else's package.

use std::path::{Path, PathBuf};

use oxc_resolver::{ResolveOptions, Resolver, TsconfigDiscovery};

use super::{SourceModule, SourceTree};
use crate::front::SourceLanguage;
use crate::settings::ClientModule;

/// What a module name leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModuleTarget {
    /// A package whose classes are clients: index into the client modules.
    Client(usize),
    /// A file, and names still to be looked up in it.
    File(PathBuf, Vec<String>),
    /// A package that is not ours.
    Foreign,
    /// A file of the project that is not there.
    Missing,
}

/// For imports of TypeScript and JavaScript: paths of `tsconfig.json`, `exports` of packages, `.js` that is `.ts`.
pub(super) fn javascript() -> Resolver {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let alias = |from: &str, to: &[&str]| (from.to_owned(), words(to));
    Resolver::new(ResolveOptions {
        tsconfig: Some(TsconfigDiscovery::Auto),
        condition_names: words(&["source", "import", "module", "node", "require", "default"]),
        extensions: words(&[".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json", ".d.ts"]),
        extension_alias: vec![
            alias(".js", &[".ts", ".tsx", ".js", ".jsx"]),
            alias(".jsx", &[".tsx", ".jsx"]),
            alias(".mjs", &[".mts", ".mjs"]),
            alias(".cjs", &[".cts", ".cjs"]),
        ],
        main_fields: words(&["module", "main"]),
        ..ResolveOptions::default()
    })
}

impl SourceTree<'_> {
    pub(crate) fn target(&self, from: &SourceModule, name: &str) -> ModuleTarget {
        if let Some(client) = self.client_named(name) {
            return ModuleTarget::Client(client);
        }
        let target = match from.language {
            SourceLanguage::TypeScript => self.javascript_target(&from.path, name),
            SourceLanguage::Rust => self.rust_target(from, name),
            SourceLanguage::Python => self.python_target(&from.path, name),
        };
        match &target {
            ModuleTarget::File(path, _) => match self.client_file(path) {
                Some(client) => ModuleTarget::Client(client),
                None => target,
            },
            _ => target,
        }
    }

    /// Also for parts of a package: `@promethean/client/browser`, `promethean.aio`.
    fn client_named(&self, name: &str) -> Option<usize> {
        self.clients.iter().position(|client| {
            name.strip_prefix(client.module.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
        })
    }

    fn client_file(&self, path: &Path) -> Option<usize> {
        let is_it =
            |client: &ClientModule| client.module.contains('.') && path == self.settings.root.join(&client.module);
        self.clients.iter().position(is_it)
    }

    fn javascript_target(&self, from: &Path, name: &str) -> ModuleTarget {
        let is_relative = name.starts_with(['.', '/']);
        match self.javascript.resolve_file(from, name) {
            Ok(found) => {
                let path = found.path().to_path_buf();
                let is_installed = path.components().any(|part| part.as_os_str() == "node_modules");
                match is_installed && !is_relative {
                    true => ModuleTarget::Foreign,
                    false => ModuleTarget::File(path, Vec::new()),
                }
            }
            Err(_) if is_relative => ModuleTarget::Missing,
            Err(_) => ModuleTarget::Foreign,
        }
    }
}
