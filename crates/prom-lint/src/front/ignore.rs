//! `prom-ignore rule, rule: reason` in a comment: the line it stands on, or the next line of code if it stands alone.
//! `prom-ignore-file` speaks of the whole file.

use crate::record::{Ignore, Span};

pub const WORD: &str = "prom-ignore";
const FOR_FILE: &str = "-file";

/// The remark in a comment, if there is one. `span` is the whole comment in `text`.
pub fn in_comment(text: &str, span: Span) -> Option<Ignore> {
    let comment = text.get(span.start as usize..span.end as usize)?;
    let is_mark = |character: char| matches!(character, '/' | '*' | '#' | '!') || character.is_whitespace();
    let inner = comment.trim_start_matches(is_mark).trim_end_matches("*/").trim();
    let rest = inner.strip_prefix(WORD)?;
    let (is_for_file, rest) = match rest.strip_prefix(FOR_FILE) {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    if rest.starts_with(|character: char| character.is_alphanumeric() || character == '-') {
        return None;
    }
    let (rules, reason) = rest.split_once(':').unwrap_or((rest, ""));
    let rules = rules.split([',', ' ']).filter(|rule| !rule.is_empty()).map(str::to_owned).collect();
    let before = &text[..span.start as usize];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let own_line = before.matches('\n').count() as u32 + 1;
    let after = if comment.ends_with('\n') { "" } else { &text[span.end as usize..] };
    let after = &after[..after.find('\n').unwrap_or(after.len())];
    // In JSX a comment has braces around it.
    let stands_alone = matches!((before[line_start..].trim(), after.trim()), ("", "") | ("{", "}"));
    let last_line = own_line + comment.trim_end().matches('\n').count() as u32;
    let line = if stands_alone { next_line_of_code(text, last_line) } else { own_line };
    Some(Ignore { span, rules, has_reason: !reason.trim().is_empty(), line, is_for_file })
}

/// The first line below that has more than a comment, so that remarks can stand above each other.
fn next_line_of_code(text: &str, last_line: u32) -> u32 {
    let below = text.split('\n').skip(last_line as usize);
    let is_comment = |line: &&str| {
        let line = line.trim_start().trim_start_matches('{');
        ["//", "#", "/*", "* "].iter().any(|mark| line.starts_with(mark)) && !line.starts_with("#[")
    };
    last_line + 1 + below.take_while(is_comment).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Ignore> {
        let start = text.find(['/', '#'])?;
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        in_comment(text, Span::new(start as u32, end as u32))
    }

    #[test]
    fn a_remark_speaks_of_its_line_or_of_the_next_one() {
        let beside = read("a();\nb(); // prom-ignore topic-name: old name\n").unwrap();
        assert_eq!((beside.line, beside.rules, beside.has_reason), (2, vec!["topic-name".to_owned()], true));
        let above = read("a();\n  # prom-ignore topic-name,header-name\nb()\n").unwrap();
        assert_eq!((above.line, above.rules.len(), above.has_reason), (3, 2, false));
        assert!(read("// prom-ignore-file: generated\n").unwrap().is_for_file);
        assert_eq!(read("// prom-ignored\n"), None);
        assert_eq!(read("// see prom-ignore\n"), None);
    }
}
