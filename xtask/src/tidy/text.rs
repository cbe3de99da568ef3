//! Rules for every text file: no marks left for later, no paths of one machine, no stray whitespace.

use super::Complaint;
use crate::repository::File;

/// Spelled in parts, so that this file keeps its own rule.
const MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const MACHINE_PATHS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// Written by others.
const NOT_OUR_WORDS: [&str; 2] = ["Cargo.lock", "LICENSE"];

pub fn check(file: &File) -> Vec<Complaint> {
    if NOT_OUR_WORDS.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (index, line) in file.text.split('\n').enumerate() {
        let mut complain = |advice: String| complaints.push(Complaint::new(&file.path, index + 1, advice));
        for mark in MARKS.iter().filter(|mark| has_word(line, mark)) {
            complain(format!("do it, or open an issue; `{mark}` is forgotten"));
        }
        for path in MACHINE_PATHS.iter().filter(|path| begins_path(line, path)) {
            complain(format!("`{path}` exists on one machine only"));
        }
        if line.contains('\t') {
            complain("use spaces instead of tabs".into());
        }
        if line.ends_with([' ', '\r']) {
            complain("remove the whitespace at the end of the line".into());
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        complaints.push(Complaint::new(&file.path, 0, "end the last line"));
    }
    complaints
}

/// Whether a word stands there by itself; an underscore is no part of a word.
pub fn has_word(line: &str, word: &str) -> bool {
    let outside = |character: Option<char>| character.is_none_or(|character| !character.is_alphanumeric());
    line.match_indices(word)
        .any(|(at, _)| outside(line[..at].chars().next_back()) && outside(line[at + word.len()..].chars().next()))
}

/// As the beginning of an absolute path, not in the middle of a relative one.
fn begins_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|character| !character.is_alphanumeric() && !"._-~}".contains(character))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(text: &str) -> usize {
        let file = File { path: "a.md".into(), text: text.into() };
        check(&file).len()
    }

    #[test]
    fn marks_for_later_are_refused_and_words_that_contain_them_are_not() {
        assert_eq!(advice(&format!("// {}: later\n", MARKS[0])), 1);
        assert_eq!(advice(&format!("// {}(name)\n", MARKS[1])), 1);
        assert_eq!(advice("let mastodont = 1; // todo lists are an example\n"), 0);
    }

    #[test]
    fn paths_of_one_machine_are_refused_and_relative_ones_are_not() {
        for path in MACHINE_PATHS {
            assert_eq!(advice(&format!("see {path}notes\n")), 1);
            assert_eq!(advice(&format!("\"{path}notes\"\n")), 1);
            assert_eq!(advice(&format!("see docs{path}notes\n")), 0);
        }
    }

    #[test]
    fn whitespace_is_where_it_can_be_seen() {
        assert_eq!(advice("a\n"), 0);
        for text in ["a\t b\n", "a \n", "a\r\n", "a"] {
            assert_eq!(advice(text), 1, "{text:?}");
        }
    }
}
