//! Regular expressions as JavaScript takes them.

use regress::Regex;

/// What a backslash may stand before although it means nothing there, in expressions with the flag `u`.
const ESCAPABLE: &str = "^$\\.*+?()[]{}|/";

/// A source for `new RegExp(source, "u")`; nothing if JavaScript would refuse it.
///
/// Schemas come with needless escapes like `\-` and `\@`, which that flag forbids; they are written as what they mean.
pub(super) fn with_unicode(pattern: &str) -> Option<String> {
    let mut source = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        source.push(letter);
        if letter != '\\' {
            continue;
        }
        match letters.next()? {
            needless if needless.is_ascii_punctuation() && needless != '_' && !ESCAPABLE.contains(needless) => {
                source.push_str(&format!("x{:02x}", u32::from(needless)));
            }
            meant => source.push(meant),
        }
    }
    // Flags inside of an expression are too new for the runtimes that this code is for.
    let has_flags = ["(?i", "(?m", "(?s", "(?-"].iter().any(|opening| source.contains(opening));
    let is_valid = !has_flags && Regex::with_flags(&source, "u").is_ok();
    is_valid.then_some(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needless_escapes_are_mended_and_foreign_syntax_is_refused() {
        for (pattern, source) in [
            ("^[\\w\\-]+\\@x\\.y/z$", Some("^[\\w\\x2d]+\\x40x\\.y/z$")),
            ("\\p{L}+", Some("\\p{L}+")),
            ("(?<=a)b", Some("(?<=a)b")),
            ("(?P<name>a)", None),
            ("(?i)a", None),
            ("a++", None),
            ("\\Aa\\z", None),
            ("(", None),
            ("\\", None),
        ] {
            assert_eq!(with_unicode(pattern).as_deref(), source, "{pattern}");
        }
    }
}
