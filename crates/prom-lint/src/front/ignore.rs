//! `prom-ignore rule, rule: reason` in a comment: the line it stands on, or the next line if it stands alone.
//! `prom-ignore-file` speaks of the whole file.

use crate::record::{Ignore, Span};

pub const WORD: &str = "prom-ignore";
const FOR_FILE: &str = "-file";

/// The remark in a comment, if there is one. `span` is the whole comment in `text`.
pub fn in_comment(text: &str, span: Span) -> Option<Ignore> {
    let comment = text.get(span.start as usize..span.end as usize)?;
    let inner = comment.trim_start_matches(['/', '*', '#', '!']).trim_end_matches("*/").trim();
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
    let stands_alone = before[line_start..].trim().is_empty();
    let lines_inside = comment.matches('\n').count() as u32;
    let line = if stands_alone { own_line + lines_inside + 1 } else { own_line };
    Some(Ignore { span, rules, has_reason: !reason.trim().is_empty(), line, is_for_file })
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
