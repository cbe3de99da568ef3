//! A type name that other files of a crate can see means one thing in the whole workspace.
//!
//! Looked at is the code of `crates/` that is not for tests. A name that is defined twice for the same concept, one in each
//! layer, is listed in `xtask/tidy-names.txt` with the reason: `Name: reason`.

use std::collections::{BTreeMap, HashMap};

use super::Complaint;
use super::source::{Source, line_of};

pub const LIST: &str = "xtask/tidy-names.txt";

/// Nouns that say nothing outside of their file.
const GENERIC: [&str; 11] =
    ["State", "Place", "Found", "Known", "Placed", "Together", "Kept", "Ground", "Company", "Taste", "Door"];

const KINDS: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

/// Where a name is defined.
struct Definition<'s> {
    path: &'s str,
    line: usize,
}

pub fn check(sources: &[Source<'_>], list: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut listed = read_list(list, &mut complaints);
    for (name, places) in definitions(sources) {
        let is_listed = listed.remove(name).is_some();
        if GENERIC.contains(&name) {
            let advice = format!("`{name}` says nothing outside of its file: name what it is");
            complaints.extend(places.iter().map(|place| Complaint::new(place.path, place.line, advice.as_str())));
        } else if places.len() > 1 && !is_listed {
            complaints.extend(places.iter().map(|place| twice(name, place, &places)));
        } else if places.len() == 1 && is_listed {
            complaints.push(Complaint::new(LIST, 0, format!("remove `{name}`, it has one meaning now")));
        }
    }
    let stale = |name: &str| Complaint::new(LIST, 0, format!("remove `{name}`, it is gone"));
    complaints.extend(listed.into_keys().map(stale));
    complaints
}

fn twice(name: &str, place: &Definition<'_>, places: &[Definition<'_>]) -> Complaint {
    let others = places.iter().filter(|other| (other.path, other.line) != (place.path, place.line));
    let others: Vec<String> = others.map(|other| format!("{}:{}", other.path, other.line)).collect();
    let advice = format!("`{name}` is also defined in {}: rename or share one of them", others.join(", "));
    Complaint::new(place.path, place.line, advice)
}

/// Each listed name with its line.
fn read_list<'t>(list: &'t str, complaints: &mut Vec<Complaint>) -> HashMap<&'t str, usize> {
    let mut listed = HashMap::new();
    for (index, line) in list.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(": ").filter(|(_, reason)| !reason.trim().is_empty()) {
            Some((name, _)) => drop(listed.insert(name, index + 1)),
            None => complaints.push(Complaint::new(LIST, index + 1, "expected: a name, `: `, and the reason")),
        }
    }
    listed
}

fn definitions<'s>(sources: &'s [Source<'_>]) -> BTreeMap<&'s str, Vec<Definition<'s>>> {
    let mut found: BTreeMap<&str, Vec<Definition<'_>>> = BTreeMap::new();
    let looked_at = |source: &&Source<'_>| {
        source.path.starts_with("crates/") && !source.path.contains("/examples/") && !source.is_test
    };
    for source in sources.iter().filter(looked_at) {
        for (at, name) in visible_types(&source.production) {
            let line = line_of(&source.production, at);
            found.entry(name).or_default().push(Definition { path: source.path, line });
        }
    }
    found
}

/// Position and name of every type that is `pub` or `pub(…)`.
fn visible_types(code: &str) -> Vec<(usize, &str)> {
    let begins = |at: usize| {
        code[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || "{};".contains(before))
    };
    let starts = code.match_indices("pub").filter(|(at, _)| begins(*at));
    let types = starts.filter_map(|(at, _)| {
        let mut rest = &code[at + 3..];
        if rest.starts_with('(') {
            rest = &rest[rest.find(')')? + 1..];
        }
        let mut words = rest.split_whitespace().skip_while(|word| *word == "unsafe");
        rest.starts_with(char::is_whitespace).then_some(())?;
        words.next().filter(|word| KINDS.contains(word))?;
        let name = words.next()?;
        let length = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        // A macro may define a type whose name is one of its arguments.
        (length > 0).then(|| (at, &name[..length]))
    });
    types.collect()
}

#[cfg(test)]
mod tests {
    use super::super::source::read;
    use super::*;

    fn advice(files: &[(&str, &str)], list: &str) -> Vec<String> {
        let sources: Vec<Source<'_>> = files.iter().map(|(path, text)| read(path, text)).collect();
        check(&sources, list).into_iter().map(|complaint| complaint.advice).collect()
    }

    #[test]
    fn a_name_means_one_thing_in_all_crates() {
        let one = ("crates/a/src/x.rs", "pub struct Slot;\n");
        assert_eq!(advice(&[one, ("crates/b/src/x.rs", "pub(crate) enum Slots {}\nstruct Slot;\n")], ""), [""; 0]);
        assert_eq!(advice(&[one, ("crates/b/tests/x.rs", "pub struct Slot;\n")], ""), [""; 0]);
        let both = advice(&[one, ("crates/b/src/x.rs", "\npub(in crate::a) type Slot<T> = T;\n")], "");
        assert_eq!(both.len(), 2);
        assert_eq!(both[0], "`Slot` is also defined in crates/b/src/x.rs:2: rename or share one of them");
    }

    #[test]
    fn a_name_of_one_concept_in_several_layers_is_listed_with_its_reason() {
        let files = [("crates/a/src/x.rs", "pub enum Error {}\n"), ("crates/b/src/x.rs", "pub enum Error {}\n")];
        assert_eq!(advice(&files, "# known\nError: one in each crate\n"), [""; 0]);
        assert_eq!(advice(&files[..1], "Error: one in each crate\n"), ["remove `Error`, it has one meaning now"]);
        assert_eq!(advice(&[], "Error: one in each crate\n"), ["remove `Error`, it is gone"]);
        assert!(advice(&[], "Error\n")[0].contains("reason"));
    }

    #[test]
    fn a_generic_noun_stays_in_its_file() {
        assert!(advice(&[("crates/a/src/x.rs", "pub(super) struct State {\n")], "")[0].contains("name what it is"));
        assert_eq!(advice(&[("crates/a/src/x.rs", "struct State;\nenum Found {}\n")], ""), [""; 0]);
    }

    #[test]
    fn definitions_are_told_from_what_looks_like_one() {
        let code = "pub struct A<T>(T);\n    pub(super) unsafe trait B: C {}\npub fn type_of() {}\nmy_pub struct D;\n\
                    pub struct $name;\n\
                    pub use a::struct_;\npub(crate) union E { pub field: u8 }\npub const F: u8 = 1;\n";
        let names: Vec<&str> = visible_types(code).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["A", "B", "E"]);
    }
}
