//! Every decision page is listed in the index, so that it can be found.

use super::Complaint;
use crate::repository::File;

const FOLDER: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";

pub fn check(files: &[File]) -> Vec<Complaint> {
    let index = files.iter().find(|file| file.path == INDEX).map_or("", |file| file.text.as_str());
    let pages = files.iter().filter_map(|file| file.path.strip_prefix(FOLDER)).filter(|name| name.ends_with(".md"));
    let unlisted = pages.filter(|name| *name != "README.md" && !index.contains(&format!("({name})")));
    unlisted.map(|name| Complaint::new(&format!("{FOLDER}{name}"), 0, format!("list it in {INDEX}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_listed() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let page = || file("docs/decisions/0001-a.md", "# A\n");
        assert_eq!(check(&[file(INDEX, "- [A](0001-a.md)\n"), page()]), []);
        assert_eq!(check(&[file(INDEX, "- [B](0002-b.md)\n"), page()]).len(), 1);
        assert_eq!(check(&[page()]).len(), 1);
    }
}
