//! Calls that do not belong: panics outside of tests, printing outside of tools.

use super::Complaint;
use super::source::{Source, line_of};

/// What may panic by request.
const MAY_PANIC: [&str; 3] = ["xtask/", "bench/", "fuzz/"];
/// What speaks to people by printing.
const MAY_PRINT: [&str; 4] = ["xtask/", "bench/", "fuzz/", "crates/prom-cli/"];

const PANICKING: [&str; 2] = [".unwrap()", ".expect("];
const PRINTING: [&str; 5] = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];

pub fn check(source: &Source<'_>) -> Vec<Complaint> {
    let is_example = source.path.contains("examples/");
    let exempt =
        |folders: &[&str]| source.is_test || is_example || folders.iter().any(|at| source.path.starts_with(at));
    let mut complaints = Vec::new();
    if !exempt(&MAY_PANIC) {
        complaints.extend(find(source, &PANICKING, "return an error that says what to do, instead of"));
    }
    if !exempt(&MAY_PRINT) {
        complaints.extend(find(source, &PRINTING, "use `tracing` or return it, instead of"));
    }
    complaints
}

fn find(source: &Source<'_>, words: &[&str], advice: &str) -> Vec<Complaint> {
    let code = &source.production;
    let mut complaints = Vec::new();
    for word in words {
        for (at, _) in code.match_indices(word) {
            let inside_a_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let continues = at > 0 && !word.starts_with('.') && inside_a_word(&code.as_bytes()[at - 1]);
            if !continues {
                let advice = format!("{advice} `{word}`");
                complaints.push(Complaint::new(source.path, line_of(code, at), advice));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::super::source::read;
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&read(path, text)).into_iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn panics_belong_into_tests_tools_and_examples() {
        let code = "fn a() {\n    b.unwrap();\n    c\n        .expect(\"d\");\n}\n";
        assert_eq!(lines("crates/prom-engine/src/a.rs", code), [2, 4]);
        for path in ["tests/src/a.rs", "crates/prom-store/tests/a.rs", "xtask/src/a.rs", "bench/src/a.rs"] {
            assert_eq!(lines(path, code), [0; 0], "{path}");
        }
        assert_eq!(lines("crates/promethean/examples/a.rs", code), [0; 0]);
        assert_eq!(lines("crates/a/src/a.rs", &format!("#[cfg(test)]\nmod tests {{ {code} }}")), [0; 0]);
        assert_eq!(lines("crates/a/src/a.rs", "/// a.unwrap()\nfn a() { \".unwrap()\"; b.unwrap_or(1); }"), [0; 0]);
    }

    #[test]
    fn printing_belongs_into_tools() {
        let code = "fn a() {\n    println!(\"b\");\n    dbg!(c);\n}\n";
        assert_eq!(lines("crates/prom-engine/src/a.rs", code), [2, 3]);
        assert_eq!(lines("bench/src/a.rs", code), [0; 0]);
        assert_eq!(lines("crates/a/src/a.rs", "fn a() { my_println!(); \"println!\"; }"), [0; 0]);
    }
}
