//! Files that are written by programs: made here, committed, and checked to be what the programs would write today.
//!
//! What xtask writes itself is checked here. What an example of a package writes is checked by a test of that package, so
//! that checking builds nothing that the tests do not build anyway.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::run::{cargo, succeed};
use crate::{codes, http_types, repository};

/// What writes files, and the files or folders it writes.
struct Generator {
    program: Program,
    writes: &'static [&'static str],
}

enum Program {
    /// An example of a package, which also has a test that the committed files are current.
    Example {
        package: &'static str,
        example: &'static str,
    },
    Here(fn(&Path) -> Result<()>),
}

const GENERATORS: [Generator; 5] = [
    Generator { program: Program::Here(codes::write), writes: &[codes::RUST, codes::TYPESCRIPT, codes::PAGE] },
    Generator {
        program: Program::Example { package: "prom-types", example: "vectors" },
        writes: &["protocol/vectors"],
    },
    Generator {
        program: Program::Example { package: "prom-auth", example: "policy_vectors" },
        writes: &["protocol/vectors/policies.json"],
    },
    Generator {
        program: Program::Example { package: "prom-gateway", example: "openapi" },
        writes: &["protocol/openapi.json"],
    },
    // Reads what the one before it has written.
    Generator { program: Program::Here(http_types::write), writes: &[http_types::TYPESCRIPT] },
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

/// Checks what is written here, and leaves the files as they were.
pub fn check() -> Result<()> {
    let committed = read_here()?;
    let generated = write_here().and_then(|()| read_here());
    put_back(&committed)?;
    let stale = differences(&committed, &generated?);
    if !stale.is_empty() {
        bail!("not current, run `cargo xtask gen`: {}", stale.join(", "));
    }
    Ok(())
}

/// A program of this crate, and the files that it writes.
type Here = (fn(&Path) -> Result<()>, &'static [&'static str]);

fn here() -> impl Iterator<Item = Here> {
    GENERATORS.iter().filter_map(|generator| match generator.program {
        Program::Here(write) => Some((write, generator.writes)),
        Program::Example { .. } => None,
    })
}

fn write_here() -> Result<()> {
    here().try_for_each(|(write, _)| write(&repository::root()))
}

/// Each file with its content, if it exists.
type Contents = Vec<(PathBuf, Option<Vec<u8>>)>;

fn read_here() -> Result<Contents> {
    let paths = here().flat_map(|(_, writes)| writes).map(|path| repository::root().join(path));
    let read = |path: PathBuf| {
        let content = match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            content => Some(content.with_context(|| format!("reading {}", path.display()))?),
        };
        Ok((path, content))
    };
    paths.map(read).collect()
}

fn put_back(committed: &Contents) -> Result<()> {
    for (path, content) in committed {
        let put_back = match content {
            Some(content) => std::fs::write(path, content),
            None if path.exists() => std::fs::remove_file(path),
            None => Ok(()),
        };
        put_back.with_context(|| format!("putting back {}", path.display()))?;
    }
    Ok(())
}

fn differences(committed: &Contents, generated: &Contents) -> Vec<String> {
    let pairs = committed.iter().zip(generated);
    pairs.filter(|(before, after)| before != after).map(|((path, _), _)| path.display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(files: &[(&str, Option<&str>)]) -> Contents {
        let contents =
            files.iter().map(|(path, text)| (PathBuf::from(path), text.map(|text| text.as_bytes().to_vec())));
        contents.collect()
    }

    #[test]
    fn a_changed_and_an_added_file_are_each_named() {
        let committed = contents(&[("same", Some("1")), ("changed", Some("1")), ("added", None)]);
        assert_eq!(differences(&committed, &committed), Vec::<String>::new());
        let generated = contents(&[("same", Some("1")), ("changed", Some("2")), ("added", Some("1"))]);
        assert_eq!(differences(&committed, &generated), ["changed", "added"]);
    }
}
