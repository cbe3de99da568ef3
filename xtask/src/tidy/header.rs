//! Every file opens with what it is for.

use super::Complaint;
use super::source::Source;

pub fn check(source: &Source<'_>) -> Option<Complaint> {
    let says = source.text.lines().next().and_then(|line| line.strip_prefix("//!")).map_or("", str::trim);
    let advice = "open the file with `//!`: what it is for and what it promises";
    says.is_empty().then(|| Complaint::new(source.path, 1, advice))
}

#[cfg(test)]
mod tests {
    use super::super::source::read;
    use super::*;

    #[test]
    fn a_file_opens_with_what_it_is_for() {
        assert_eq!(check(&read("a.rs", "//! Sums.\nfn a() {}\n")), None);
        for text in ["", "fn a() {}\n", "// Sums.\n", "\n//! Sums.\n", "//!\n//! Sums.\n"] {
            assert!(check(&read("a.rs", text)).is_some(), "{text:?}");
        }
    }
}
