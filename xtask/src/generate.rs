//! Files that are written by programs: made here, committed, and checked to be what the programs would write today.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::repository;
use crate::run::{cargo, succeed};

/// Each generator is an example that writes into its folder.
struct Generator {
    package: &'static str,
    example: &'static str,
    folder: &'static str,
}

const GENERATORS: [Generator; 1] =
    [Generator { package: "prom-types", example: "vectors", folder: "protocol/vectors" }];

pub fn write() -> Result<()> {
    for Generator { package, example, folder } in &GENERATORS {
        succeed(cargo().args(["run", "--quiet", "--locked", "--package", package, "--example", example]))?;
        println!("wrote {folder}");
    }
    Ok(())
}

/// Leaves the files as they were.
pub fn check() -> Result<()> {
    let folders = || GENERATORS.iter().map(|generator| repository::root().join(generator.folder));
    let committed = contents_of(folders())?;
    let generated = write().and_then(|()| contents_of(folders()));
    put_back(&committed, &contents_of(folders())?)?;
    let stale: Vec<String> = differences(&committed, &generated?);
    if !stale.is_empty() {
        bail!("not current, run `cargo xtask gen`: {}", stale.join(", "));
    }
    Ok(())
}

type Contents = Vec<(PathBuf, Vec<u8>)>;

fn contents_of(folders: impl Iterator<Item = PathBuf>) -> Result<Contents> {
    let mut all = Vec::new();
    for folder in folders {
        all.extend(repository::contents(&folder)?);
    }
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
