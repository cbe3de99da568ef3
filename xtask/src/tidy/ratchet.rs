//! What breaks a rule today is listed with its size, and may only shrink.
//!
//! A line of the ratchet is a number and what it counts: `612 path/to/file.rs` and `85 path/to/file.rs name` for lines,
//! `3 names crates/prom-engine` and `2 words docs` for the places that break those rules in a crate or folder.

use std::collections::HashMap;

use super::Complaint;

pub const PATH: &str = "xtask/tidy-ratchet.txt";

/// What is listed and has not been asked for yet.
pub struct Ratchet<'t> {
    listed: HashMap<&'t str, usize>,
    malformed: Vec<usize>,
}

impl<'t> Ratchet<'t> {
    pub fn read(text: &'t str) -> Self {
        let mut ratchet = Self { listed: HashMap::new(), malformed: Vec::new() };
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            match line.split_once(' ').and_then(|(size, name)| Some((size.parse().ok()?, name))) {
                Some((size, name)) => drop(ratchet.listed.insert(name, size)),
                None => ratchet.malformed.push(index + 1),
            }
        }
        ratchet
    }

    /// The size that is listed for this name. Each name is asked for once.
    pub fn take(&mut self, name: &str) -> Option<usize> {
        self.listed.remove(name)
    }

    /// Drops the complaints of an area if there are no more of them than listed as `<rule> <area>`. Fewer are welcome: the
    /// list is emptied when the last of a rule is gone.
    pub fn allow(&mut self, rule: &str, complaints: Vec<Complaint>) -> Vec<Complaint> {
        let mut by_area: HashMap<String, Vec<Complaint>> = HashMap::new();
        for complaint in complaints {
            by_area.entry(area(&complaint.path).to_owned()).or_default().push(complaint);
        }
        let mut refused = Vec::new();
        for (area, complaints) in by_area {
            let allowed = self.take(&format!("{rule} {area}")).unwrap_or(0);
            if complaints.len() > allowed {
                refused.extend(complaints);
            }
        }
        self.listed.retain(|name, _| name.split_once(' ').is_none_or(|(of_rule, _)| of_rule != rule));
        refused
    }

    /// Lines that cannot be read, and names that nothing asked for.
    pub fn leftovers(self) -> Vec<Complaint> {
        let malformed = self.malformed.into_iter();
        let malformed = malformed.map(|line| Complaint::new(PATH, line, "expected: a number, and what it counts"));
        let stale = self.listed.into_keys().map(|name| Complaint::new(PATH, 0, format!("remove `{name}`, it is gone")));
        malformed.chain(stale).collect()
    }
}

/// `crates/<name>` and `sdk/<name>`; of other paths the first folder, or the file itself at the root.
fn area(path: &str) -> &str {
    let parts = if path.starts_with("crates/") || path.starts_with("sdk/") { 2 } else { 1 };
    path.match_indices('/').nth(parts - 1).map_or(path, |(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(path: &str) -> Complaint {
        Complaint::new(path, 1, "advice")
    }

    #[test]
    fn an_area_may_have_as_many_complaints_as_are_listed() {
        let text = "# known\n2 words crates/a\n";
        let one = || complaint("crates/a/src/b.rs");
        assert_eq!(Ratchet::read(text).allow("words", vec![one(), one()]), []);
        assert_eq!(Ratchet::read(text).allow("words", vec![one(), one(), one()]).len(), 3);
        assert_eq!(Ratchet::read(text).allow("names", vec![one()]).len(), 1);
        assert_eq!(Ratchet::read(text).allow("words", vec![complaint("docs/a.md")]).len(), 1);
    }

    #[test]
    fn what_is_gone_or_cannot_be_read_is_removed() {
        let mut ratchet = Ratchet::read("3 a\n4 b\nmany c\n");
        assert_eq!(ratchet.take("a"), Some(3));
        let advice: Vec<String> = ratchet.leftovers().into_iter().map(|complaint| complaint.advice).collect();
        assert_eq!(advice, ["expected: a number, and what it counts", "remove `b`, it is gone"]);
    }

    #[test]
    fn an_area_is_a_crate_or_a_folder() {
        assert_eq!(area("crates/prom-engine/src/a.rs"), "crates/prom-engine");
        assert_eq!(area("sdk/ts/src/a.ts"), "sdk/ts");
        assert_eq!(area("docs/guide/a.md"), "docs");
        assert_eq!(area("README.md"), "README.md");
    }
}
