//! Small files, small functions. What is larger is listed in the ratchet with its size, and may only shrink.

use super::Complaint;
use super::ratchet::{PATH as RATCHET, Ratchet};
use super::source::{Source, block_end, line_of};

const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 70;

/// Something that has a size: a file, or a function in one.
struct Sized {
    /// As it is written in the ratchet.
    name: String,
    path: String,
    line: usize,
    lines: usize,
    limit: usize,
}

pub fn check(sources: &[Source<'_>], ratchet: &mut Ratchet<'_>) -> Vec<Complaint> {
    sources.iter().flat_map(measure).filter_map(|sized| judge(&sized, ratchet.take(&sized.name))).collect()
}

fn judge(sized: &Sized, allowed: Option<usize>) -> Option<Complaint> {
    let Sized { name, path, line, lines, limit } = sized;
    let complain = |advice: String| Some(Complaint::new(path, *line, advice));
    match allowed {
        None if lines > limit => complain(format!("split by role: {lines} lines, at most {limit} (`{name}`)")),
        None => None,
        Some(_) if lines <= limit => complain(format!("well done: remove `{name}` from {RATCHET}")),
        Some(allowed) if *lines > allowed => {
            complain(format!("may only shrink: {lines} lines, were {allowed} (`{name}`)"))
        }
        Some(allowed) if *lines < allowed => complain(format!("well done: write {lines} for `{name}` in {RATCHET}")),
        Some(_) => None,
    }
}

fn measure(source: &Source<'_>) -> Vec<Sized> {
    let path = source.path.to_owned();
    let file = Sized {
        name: path.clone(),
        path: path.clone(),
        line: 0,
        lines: source.text.lines().count(),
        limit: FILE_LINES,
    };
    let functions = functions(&source.code).into_iter().map(|(function, line, lines)| Sized {
        name: format!("{path} {function}"),
        path: path.clone(),
        line,
        lines,
        limit: FUNCTION_LINES,
    });
    let functions: Vec<Sized> = functions.collect();
    [file].into_iter().chain(functions).collect()
}

/// Name, first line and number of lines of every function with a body.
fn functions(code: &str) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let begins = at == 0 || !(code.as_bytes()[at - 1].is_ascii_alphanumeric() || code.as_bytes()[at - 1] == b'_');
        let rest = code[at + 3..].trim_start();
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let open = if begins && !name.is_empty() { body_start(code, at) } else { None };
        if let Some(open) = open {
            let (first, last) = (line_of(code, at), line_of(code, block_end(code, open) - 1));
            found.push((name, first, last - first + 1));
        }
    }
    found
}

/// The brace that opens the body; a declaration without one ends with a semicolon.
fn body_start(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (position, byte) in code.bytes().enumerate().skip(at) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' if depth == 0 => return Some(position),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::source::read;
    use super::*;

    fn complaints(path: &str, text: &str, ratchet: &str) -> Vec<String> {
        let mut ratchet = Ratchet::read(ratchet);
        let complaints = check(&[read(path, text)], &mut ratchet);
        complaints.into_iter().chain(ratchet.leftovers()).map(|complaint| complaint.advice).collect()
    }

    fn function(lines: usize) -> String {
        format!("fn long(a: [u8; 2]) -> u8 {{\n{}}}\n", "    a();\n".repeat(lines - 2))
    }

    #[test]
    fn files_are_short_or_listed_and_listed_ones_only_shrink() {
        let text = |lines| "a\n".repeat(lines);
        assert!(complaints("a.rs", &text(500), "").is_empty());
        assert!(complaints("a.rs", &text(501), "")[0].contains("split"));
        assert!(complaints("a.rs", &text(600), "# known\n600 a.rs\n").is_empty());
        assert!(complaints("a.rs", &text(601), "600 a.rs")[0].contains("only shrink"));
        assert!(complaints("a.rs", &text(599), "600 a.rs")[0].contains("write 599"));
        assert!(complaints("a.rs", &text(400), "600 a.rs")[0].contains("remove"));
        assert!(complaints("a.rs", &text(1), "600 b.rs")[0].contains("gone"));
        assert!(complaints("a.rs", &text(1), "many b.rs")[0].contains("expected"));
    }

    #[test]
    fn functions_are_short_or_listed() {
        assert!(complaints("a.rs", &function(70), "").is_empty());
        assert!(complaints("a.rs", &function(71), "")[0].contains("71 lines"));
        assert!(complaints("a.rs", &function(71), "71 a.rs long").is_empty());
    }

    #[test]
    fn the_length_of_a_function_is_counted_by_its_braces() {
        let code =
            "trait A { fn a(&self) -> [u8; 4]; fn b() {} }\nfn c(f: fn(u8) -> u8)\nwhere\n    B: C,\n{\n    { }\n}\n";
        let expected = [("b".to_owned(), 1, 1), ("c".to_owned(), 2, 6)];
        assert_eq!(functions(code), expected);
    }
}
