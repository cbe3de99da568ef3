//! From the configuration to what the linter is told.

use std::path::Path;

use prom_lint::{DeclaredStep, DeclaredTopicFacts, LintSettings};

use crate::config::{Config, ConfigProblems, Overrides, USUAL_FILE, load, load_text};
use crate::exit::Failure;

/// The root of the project is the folder of its configuration, or the current one where there is none.
pub fn read(named: Option<&Path>, schemas: Option<&Path>) -> Result<LintSettings, Failure> {
    let here = std::env::current_dir().map_err(|error| Failure::no(format!("no current folder: {error}")))?;
    let file = match named {
        Some(file) => Some(here.join(file)),
        None => here.ancestors().map(|folder| folder.join(USUAL_FILE)).find(|file| file.is_file()),
    };
    // What the environment says is about the hub, not about the code.
    let config = match &file {
        Some(file) => load(Some(file), |_| None, Overrides::default())?.config,
        None => Config::default(),
    };
    let root = file.as_deref().and_then(Path::parent).unwrap_or(&here);
    let root = root.canonicalize().map_err(|error| Failure::usage(format!("{}: {error}", root.display())))?;
    let mut settings = told(config, &root);
    settings.config_file = file.map(|file| file.canonicalize().unwrap_or(file));
    if let Some(folder) = schemas {
        let folder = here.join(folder);
        if !folder.is_dir() {
            let what = format!("{} is no folder", folder.display());
            return Err(
                Failure::usage(what).fix("a folder of schemas has one folder per topic, with v1.json and so on")
            );
        }
        settings.schema_folder = Some(folder.canonicalize().unwrap_or(folder));
    }
    Ok(settings)
}

/// What the text of a configuration says of the project at `root`.
pub fn of_text(text: &str, root: &Path) -> Result<LintSettings, ConfigProblems> {
    Ok(told(load_text(USUAL_FILE, text, Overrides::default())?.config, root))
}

fn told(config: Config, root: &Path) -> LintSettings {
    let declared = config.declared.into_iter();
    let declared = declared.map(|topic| DeclaredTopicFacts { name: topic.name.to_string(), schema: topic.schema });
    let steps = config.upcasters.into_iter();
    let steps = steps.map(|step| DeclaredStep { topic: step.topic.to_string(), from: step.from, jq: step.jq });
    LintSettings {
        severities: config.lint.rules,
        allow: config.lint.allow,
        wrappers: config.lint.wrappers,
        clients: config.lint.clients,
        exclude: config.lint.exclude,
        schema_folder: config.schemas.folder,
        schemas: config.schemas.settings,
        declared: declared.collect(),
        steps: steps.collect(),
        ..LintSettings::new(root)
    }
}
