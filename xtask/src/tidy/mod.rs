//! The rules of this repository that compilers do not know. Each rule is a file, with examples that pass and that fail.

mod calls;
mod decisions;
mod header;
mod layering;
mod names;
mod ratchet;
mod script;
mod size;
mod source;
mod text;
mod words;

use anyhow::{Result, bail};

use self::ratchet::Ratchet;
use crate::repository::{self, File};

/// A broken rule: where, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub struct Complaint {
    pub path: String,
    /// From 1; 0 where the whole file is meant.
    pub line: usize,
    pub advice: String,
}

impl Complaint {
    fn new(path: &str, line: usize, advice: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, advice: advice.into() }
    }
}

pub fn run() -> Result<()> {
    let files = repository::files()?;
    let mut complaints = check(&files);
    complaints.sort_by(|left, right| (&left.path, left.line).cmp(&(&right.path, right.line)));
    for Complaint { path, line, advice } in &complaints {
        match line {
            0 => eprintln!("{path}: {advice}"),
            line => eprintln!("{path}:{line}: {advice}"),
        }
    }
    if !complaints.is_empty() {
        bail!("tidy found {} broken rules", complaints.len());
    }
    Ok(())
}

fn check(files: &[File]) -> Vec<Complaint> {
    let rust = source::read_all(files);
    let text_of = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let mut ratchet = Ratchet::read(text_of(ratchet::PATH));
    let mut complaints = Vec::new();
    for file in files {
        complaints.extend(text::check(file));
        complaints.extend(script::check(file));
    }
    for source in &rust {
        complaints.extend(header::check(source));
        complaints.extend(calls::check(source));
    }
    complaints.extend(size::check(&rust, &mut ratchet));
    complaints.extend(ratchet.allow("words", files.iter().flat_map(words::check).collect()));
    complaints.extend(ratchet.allow("names", names::check(&rust, text_of(names::LIST))));
    complaints.extend(ratchet.leftovers());
    complaints.extend(layering::check(files));
    complaints.extend(decisions::check(files));
    complaints
}
