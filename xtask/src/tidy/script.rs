//! TypeScript, JavaScript and Sibilant: every file opens with what it is for, and is small.

use super::Complaint;
use crate::repository::File;

const ENDS: [&str; 4] = [".ts", ".js", ".mjs", ".sibilant"];
/// What opens a comment in these languages.
const OPENINGS: [&str; 3] = ["/**", "//", ";;"];
const FILE_LINES: usize = 500;

pub fn check(file: &File) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if !ENDS.iter().any(|end| file.path.ends_with(end)) {
        return complaints;
    }
    let mut lines = file.text.lines().filter(|line| !line.starts_with("#!"));
    let first = lines.next().unwrap_or_default();
    let mut said = OPENINGS.iter().filter_map(|opening| first.strip_prefix(opening));
    let says = said.next().map(|text| text.trim_end_matches("*/").trim());
    // A long comment may begin on the line below its opening.
    let is_header = match says {
        Some("") if first == "/**" => lines.next().is_some_and(|line| line.trim_start_matches([' ', '*']).len() > 1),
        Some(text) => !text.is_empty(),
        None => false,
    };
    if !is_header {
        complaints.push(Complaint::new(
            &file.path,
            1,
            "open the file with a comment: what it is for and what it promises",
        ));
    }
    let length = file.text.lines().count();
    // A generated file is as long as its source makes it.
    let is_generated = first.contains("not edited by hand");
    if length > FILE_LINES && !is_generated {
        let advice = format!("split by role: {length} lines, at most {FILE_LINES}");
        complaints.push(Complaint::new(&file.path, 0, advice));
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
    fn a_file_opens_with_what_it_is_for() {
        for text in ["/** Sums. */\n", "/**\n * Sums.\n */\n", "// Sums.\n", "#!/usr/bin/env node\n// Sums.\n"] {
            assert_eq!(complaints("a.ts", text), 0, "{text:?}");
        }
        assert_eq!(complaints("a.sibilant", ";; Sums.\n"), 0);
        for text in ["", "let a = 1;\n", "/** */\n", "/**\n *\n */\n", "//\n"] {
            assert_eq!(complaints("a.mjs", text), 1, "{text:?}");
        }
        assert_eq!(complaints("a.json", "{}\n"), 0);
    }

    #[test]
    fn files_are_short() {
        let text = |lines: usize| format!("// Sums.\n{}", "a();\n".repeat(lines - 1));
        assert_eq!(complaints("a.ts", &text(500)), 0);
        assert_eq!(complaints("a.ts", &text(501)), 1);
        let generated = format!("// Made by a program; not edited by hand.\n{}", "a();\n".repeat(600));
        assert_eq!(complaints("a.ts", &generated), 0);
    }
}
