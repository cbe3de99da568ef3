//! A Rust file as the rules see it: code without comments and literals, and which parts of it are tests.

use std::collections::HashSet;

use crate::repository::File;

pub struct Source<'f> {
    pub path: &'f str,
    pub text: &'f str,
    /// As long as `text`, line by line; comments, strings and characters are blank.
    pub code: String,
    /// `code` without what is compiled for tests only.
    pub production: String,
    /// The whole file is test code.
    pub is_test: bool,
}

/// Compiled into libraries, but only tests use it.
const MADE_FOR_TESTS: [&str; 2] = ["crates/prom-store/src/contract", "crates/prom-testkit/"];

pub fn read_all(files: &[File]) -> Vec<Source<'_>> {
    let rust = files.iter().filter(|file| file.path.ends_with(".rs"));
    let mut sources: Vec<Source<'_>> = rust.map(|file| read(&file.path, &file.text)).collect();
    let test_modules: HashSet<String> =
        sources.iter().flat_map(|source| test_modules(source.path, &source.code)).collect();
    for source in &mut sources {
        let module = source.path.trim_end_matches(".rs").trim_end_matches("/mod");
        let mut parts = module.match_indices('/').map(|(at, _)| &module[..at]).chain([module]);
        source.is_test = source.is_test || parts.any(|prefix| test_modules.contains(prefix));
    }
    sources
}

pub fn read<'f>(path: &'f str, text: &'f str) -> Source<'f> {
    let code = blank_literals(text);
    let production = blank_tests(&code);
    let in_test_folder = path.starts_with("tests/") || path.contains("/tests/") || path.contains("/benches/");
    Source {
        path,
        text,
        code,
        production,
        is_test: in_test_folder || MADE_FOR_TESTS.iter().any(|folder| path.starts_with(folder)),
    }
}

/// The line of a byte position, from 1.
pub fn line_of(text: &str, position: usize) -> usize {
    text.as_bytes()[..position].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Where the block ends that opens with the brace at `open`.
pub fn block_end(code: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return at + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

const TEST_ATTRIBUTE: &str = "#[cfg(test)]";

/// Blanks every item under the test attribute.
fn blank_tests(code: &str) -> String {
    let mut production = code.to_owned();
    for (start, _) in code.match_indices(TEST_ATTRIBUTE) {
        let rest = &code[start..];
        let end = match (rest.find('{'), rest.find(';')) {
            (Some(open), semicolon) if semicolon.is_none_or(|semicolon| open < semicolon) => {
                block_end(code, start + open)
            }
            (_, Some(semicolon)) => start + semicolon + 1,
            _ => code.len(),
        };
        production.replace_range(start..end, &blank(&code[start..end]));
    }
    production
}

/// Files that are modules under the test attribute, as paths without `.rs`.
fn test_modules(path: &str, code: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let base = match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    };
    let declarations = code.match_indices(TEST_ATTRIBUTE).filter_map(|(start, _)| {
        let item = code[start + TEST_ATTRIBUTE.len()..].split([';', '{']).next()?;
        let is_file = code[start + TEST_ATTRIBUTE.len() + item.len()..].starts_with(';');
        let mut words = item.split_whitespace().skip_while(|word| *word != "mod");
        words.next().filter(|_| is_file)?;
        words.next()
    });
    declarations.map(|module| format!("{base}/{module}")).collect()
}

/// Replaces everything but line ends by spaces, byte for byte.
fn blank(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

fn blank_literals(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(text, at);
        if end > at {
            code.push_str(&blank(&text[at..end]));
            at = end;
        } else {
            // Code outside of literals is nearly always ASCII; other characters mean nothing to the rules.
            code.push(if bytes[at].is_ascii() { char::from(bytes[at]) } else { ' ' });
            at += 1;
        }
    }
    code
}

/// The end of the comment or literal that begins at `at`; `at` itself if none does.
fn literal_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let after_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match bytes[at] {
        b'/' if bytes.get(at + 1) == Some(&b'/') => text[at..].find('\n').map_or(text.len(), |length| at + length),
        b'/' if bytes.get(at + 1) == Some(&b'*') => comment_end(bytes, at),
        b'"' => string_end(bytes, at),
        b'r' | b'b' | b'c' if !after_word => prefixed_end(bytes, at),
        b'\'' => character_end(text, at),
        _ => at,
    }
}

fn comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut at) = (0usize, start);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" if depth == 1 => return at + 2,
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// `r"…"`, `r#"…"#`, `b"…"`, `br"…"`, `c"…"`; anything else that begins with these letters is a name.
fn prefixed_end(bytes: &[u8], start: usize) -> usize {
    let letters = bytes[start..].iter().take_while(|byte| matches!(byte, b'r' | b'b' | b'c')).count();
    let hashes = bytes[start + letters..].iter().take_while(|byte| **byte == b'#').count();
    let quote = start + letters + hashes;
    let raw = bytes[start..start + letters].contains(&b'r');
    if letters > 2 || bytes.get(quote) != Some(&b'"') || (hashes > 0 && !raw) {
        return start;
    }
    if !raw {
        return string_end(bytes, quote);
    }
    let mut close = vec![b'"'];
    close.extend(std::iter::repeat_n(b'#', hashes));
    let found = bytes[quote + 1..].windows(close.len()).position(|window| window == close);
    found.map_or(bytes.len(), |length| quote + 1 + length + close.len())
}

/// A character, as opposed to a lifetime.
fn character_end(text: &str, start: usize) -> usize {
    let rest = &text[start + 1..];
    let mut characters = rest.char_indices();
    match characters.next() {
        Some((_, '\\')) => {
            // At least one character is escaped, also if it is a quote.
            let escaped = characters.next().map_or(1, |(at, character)| at + character.len_utf8());
            rest[escaped..].find('\'').map_or(text.len(), |length| start + 1 + escaped + length + 1)
        }
        Some((_, character)) if rest[character.len_utf8()..].starts_with('\'') => start + 1 + character.len_utf8() + 1,
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank_and_positions_stay() {
        let text = "let a = \"{ \\\" }\"; // {\n/* { /* } */ */ b('{', '\\'', 'x', r#\"{\"}\"#, br\"{\", 'é');\nfn f<'a>(r: &'a str) {}\n";
        let code = blank_literals(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(code.matches('{').count(), 1);
        assert!(code.contains("fn f<'a>(r: &'a str) {}"));
        assert_eq!(code.matches('\n').count(), 3);
    }

    #[test]
    fn test_items_are_not_production() {
        let source =
            read("a.rs", "fn a() { x }\n#[cfg(test)]\nmod tests { fn b() { y } }\n#[cfg(test)]\nuse z;\nfn c() {}\n");
        assert!(source.production.contains("fn a() { x }") && source.production.contains("fn c() {}"));
        assert!(!source.production.contains('y') && !source.production.contains('z'));
    }

    #[test]
    fn a_module_under_the_test_attribute_is_test_code_with_all_below_it() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let files = [
            file("c/src/a/mod.rs", "#[cfg(test)]\nmod promises;\nmod real;"),
            file("c/src/a/promises/mod.rs", "mod b;"),
            file("c/src/a/promises/b.rs", ""),
            file("c/src/a/real.rs", ""),
            file("c/src/d.rs", "#[cfg(test)]\nmod checks;"),
            file("c/src/d/checks.rs", ""),
        ];
        let is_test: Vec<bool> = read_all(&files).iter().map(|source| source.is_test).collect();
        assert_eq!(is_test, [false, true, true, false, false, true]);
    }
}
