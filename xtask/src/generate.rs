//! Files that are written by programs: made here, committed, and checked to be what the programs would write today.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::run::{cargo, succeed};
use crate::{codes, repository};

/// What writes files, and the files or folders it writes.
struct Generator {
    program: Program,
    writes: &'static [&'static str],
}

enum Program {
    /// An example of a package.
    Example {
        package: &'static str,
        example: &'static str,
    },
    Here(fn(&Path) -> Result<()>),
}

const GENERATORS: [Generator; 4] = [
    Generator { program: Program::Here(codes::write), writes: &[codes::RUST, codes::TYPESCRIPT, codes::PAGE] },
    Generator {
        program: Program::Example { package: "prom-types", example: "vectors" },
        writes: &["protocol/vectors"],
    },
    Generator {
        program: Program::Example { package: "prom-auth", example: "vectors" },
        writes: &["protocol/vectors/policies.json"],
    },
    Generator {
        program: Program::Example { package: "prom-gateway", example: "openapi" },
        writes: &["protocol/openapi.json"],
    },
];

pub fn write() -> Result<()> {
    for Generator { program, writes } in &GENERATORS {
        match program {
            Program::Example { package, example } => {
                succeed(cargo().args(["run", "--quiet", "--locked", "--package", package, "--example", example]))?;
            }
            Program::Here(write) => write(&repository::root())?,
        }
        println!("wrote {}", writes.join(", "));
    }
    Ok(())
}

/// Leaves the files as they were.
pub fn check() -> Result<()> {
    let committed = written()?;
    let generated = write().and_then(|()| written());
    put_back(&committed, &written()?)?;
    let stale: Vec<String> = differences(&committed, &generated?);
    if !stale.is_empty() {
        bail!("not current, run `cargo xtask gen`: {}", stale.join(", "));
    }
    Ok(())
}

type Contents = Vec<(PathBuf, Vec<u8>)>;

fn written() -> Result<Contents> {
    let mut all = Vec::new();
    for path in GENERATORS.iter().flat_map(|generator| generator.writes) {
        let path = repository::root().join(path);
        if path.is_dir() {
            all.extend(repository::contents(&path)?);
        } else if path.is_file() {
            let content = std::fs::read(&path).with_context(|| path.display().to_string())?;
            all.push((path, content));
        }
    }
    all.sort();
    all.dedup_by(|one, other| one.0 == other.0);
    Ok(all)
}

fn put_back(committed: &Contents, now: &Contents) -> Result<()> {
    for (path, content) in committed.iter().filter(|file| !now.contains(file)) {
        std::fs::write(path, content).with_context(|| format!("putting back {}", path.display()))?;
    }
    for (path, _) in now.iter().filter(|(path, _)| !committed.iter().any(|(old, _)| old == path)) {
        std::fs::remove_file(path).with_context(|| format!("removing {}", path.display()))?;
    }
    Ok(())
}

fn differences(committed: &Contents, generated: &Contents) -> Vec<String> {
    let changed = committed.iter().filter(|file| !generated.contains(file));
    let added = generated.iter().filter(|(path, _)| !committed.iter().any(|(old, _)| old == path));
    changed.chain(added).map(|(path, _)| path.display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(files: &[(&str, &str)]) -> Contents {
        files.iter().map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_changed_a_missing_and_an_added_file_are_each_named() {
        let committed = contents(&[("same", "1"), ("changed", "1"), ("gone", "1")]);
        assert_eq!(differences(&committed, &committed), Vec::<String>::new());
        let generated = contents(&[("same", "1"), ("changed", "2"), ("added", "1")]);
        assert_eq!(differences(&committed, &generated), ["changed", "gone", "added"]);
    }
}
