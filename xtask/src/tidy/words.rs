//! Words that need a glossary, or that hide who does what. Each has a plain one.

use super::Complaint;
use super::text::has_word;
use crate::repository::File;

const ENDS: [&str; 3] = [".rs", ".ts", ".md"];

/// What is refused, in any case and also as a part of a name, and what to say. In parts, so that this file keeps its rule.
const PLAIN: [(&str, &str); 5] = [
    (concat!("who", "ever"), "say who: the caller, the subscriber, another hub"),
    (concat!("hun", "gry"), "say `has room` or `is waiting`"),
    (concat!("clog", "ged"), "say `full`"),
    (concat!("le", "nt"), "say `leased`"),
    (concat!("nobody", " looks"), "put the subject first: what is not checked, and why"),
];

pub fn check(file: &File) -> Vec<Complaint> {
    if !ENDS.iter().any(|end| file.path.ends_with(end)) {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let line = line.to_ascii_lowercase();
        for (word, advice) in PLAIN.iter().filter(|(word, _)| has_word(&line, word)) {
            complaints.push(Complaint::new(&file.path, index + 1, format!("{advice}, instead of `{word}`")));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> usize {
        check(&File { path: path.into(), text: text.into() }).len()
    }

    #[test]
    fn words_with_a_plain_one_are_refused() {
        for (word, _) in PLAIN {
            let capital = format!("{}{}", word[..1].to_uppercase(), &word[1..]);
            assert_eq!(complaints("a.rs", &format!("// {word} waits\n")), 1);
            assert_eq!(complaints("a.md", &format!("{capital}\n")), 1);
            assert_eq!(
                complaints("a.ts", &format!("let {}_to = 1;\n", word.replace(' ', "_"))),
                usize::from(!word.contains(' '))
            );
            assert_eq!(complaints("a.json", word), 0);
        }
    }

    #[test]
    fn longer_words_are_not() {
        assert_eq!(complaints("a.md", "silent plenty equivalent talented\n"), 0);
    }
}
