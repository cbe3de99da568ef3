//! Files that are written by programs: made here, committed, and checked to be what the programs would write today.
//!
//! What xtask writes itself is checked here. What an example of a package writes is checked by a test of that package, so
//! that checking builds nothing that the tests do not build anyway.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::run::{cargo, succeed};
use crate::{codes, http_types, repository};

/// A file of the repository and its text.
pub type Made = (&'static str, String);

enum Generator {
    /// An example of a package, which also has a test that the committed files are current.
    Example {
        package: &'static str,
        example: &'static str,
    },
    Here(fn(&Path) -> Result<Vec<Made>>),
}

const GENERATORS: [Generator; 5] = [
    Generator::Here(codes::make),
    Generator::Example { package: "prom-types", example: "vectors" },
    Generator::Example { package: "prom-auth", example: "policy_vectors" },
    Generator::Example { package: "prom-gateway", example: "openapi" },
    // Reads what the one before it has written.
    Generator::Here(http_types::make),
];

pub fn write() -> Result<()> {
    let root = repository::root();
    for generator in &GENERATORS {
        match generator {
            Generator::Example { package, example } => {
                succeed(cargo().args(["run", "--quiet", "--locked", "--package", package, "--example", example]))?;
                println!("wrote what the example {example} of {package} makes");
            }
            Generator::Here(make) => {
                for (path, text) in make(&root)? {
                    std::fs::write(root.join(path), text).with_context(|| format!("writing {path}"))?;
                    println!("wrote {path}");
                }
            }
        }
    }
    Ok(())
}

/// Checks what is made here.
pub fn check() -> Result<()> {
    let root = repository::root();
    let mut made = Vec::new();
    for generator in &GENERATORS {
        if let Generator::Here(make) = generator {
            made.extend(make(&root)?);
        }
    }
    let stale = stale(&made, |path| std::fs::read_to_string(root.join(path)).ok());
    if !stale.is_empty() {
        bail!("not current, run `cargo xtask gen`: {}", stale.join(", "));
    }
    Ok(())
}

fn stale(made: &[Made], committed: impl Fn(&str) -> Option<String>) -> Vec<&'static str> {
    let differs = |(path, text): &&Made| committed(path).as_ref() != Some(text);
    made.iter().filter(differs).map(|(path, _)| *path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_and_an_added_file_are_each_named() {
        let made = ["same", "changed", "added"].map(|path| (path, path.to_owned()));
        let committed = |path: &str| match path {
            "added" => None,
            _ => Some(path.replace("changed", "as it was")),
        };
        assert_eq!(stale(&made, committed), ["changed", "added"]);
    }
}
