//! Whether a file on disk is what would be written, and what differs.

use similar::{ChangeTag, TextDiff};

/// Lines of a difference that are shown.
const SHOWN: usize = 40;

/// How a file differs from what would be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub lines_added: usize,
    pub lines_removed: usize,
    /// A unified diff from the file to what would be written, cut after some lines.
    pub diff: String,
}

/// Nothing if both are the same. Line ends do not count: some tools change them on checkout.
pub fn compare(on_disk: &str, generated: &str) -> Option<Drift> {
    let on_disk = on_disk.replace("\r\n", "\n");
    if on_disk == generated {
        return None;
    }
    let diff = TextDiff::from_lines(on_disk.as_str(), generated);
    let count = |tag: ChangeTag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let text = diff.unified_diff().context_radius(1).to_string();
    let mut shown: Vec<&str> = text.lines().take(SHOWN).collect();
    if text.lines().count() > SHOWN {
        shown.push("…");
    }
    Some(Drift {
        lines_added: count(ChangeTag::Insert),
        lines_removed: count(ChangeTag::Delete),
        diff: shown.join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_files_are_current_whatever_their_line_ends() {
        assert_eq!(compare("a\r\nb\r\n", "a\nb\n"), None);
    }

    #[test]
    fn a_difference_is_counted_and_shown() {
        let drift = compare("a\nb\nc\n", "a\nc\nd\ne\n").unwrap();
        assert_eq!((drift.lines_added, drift.lines_removed), (2, 1));
        insta::assert_snapshot!(drift.diff, @r"
        @@ -1,3 +1,4 @@
         a
        -b
         c
        +d
        +e
        ");
        let long: String = (0..100).map(|n| format!("{n}\n")).collect();
        assert_eq!(compare("", &long).unwrap().diff.lines().count(), SHOWN + 1);
    }
}
