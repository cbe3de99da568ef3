//! JSON pointers of a mask, as one tree: which parts of a document are hidden.
//!
//! A pointer is that of RFC 6901, from the payload on; `*` as one of its names stands for every member and every element.

use prom_types::Invalid;

use crate::limits::{MASK_POINTER_BYTES, MASK_POINTER_NAMES, MASK_POINTERS};

/// Parts of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hidden {
    /// All of it.
    pub whole: bool,
    members: Vec<(String, Hidden)>,
}

impl Hidden {
    /// The whole document.
    pub fn all() -> Self {
        Self { whole: true, members: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        !self.whole && self.members.is_empty()
    }

    /// Adds what pointers name below a place.
    pub fn add(&mut self, below: &[&str], pointers: &[String]) -> Result<(), Invalid> {
        for pointer in pointers {
            let names = below.iter().map(|name| (*name).to_owned()).chain(names_of(pointer)?);
            names.fold(&mut *self, |at, name| at.member(name)).whole = true;
        }
        Ok(())
    }

    /// As parts of the member of that name.
    pub fn inside(self, name: &str) -> Self {
        Self { whole: false, members: vec![(name.to_owned(), self)] }
    }

    fn member(&mut self, name: String) -> &mut Hidden {
        let at = self.members.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.members.push((name, Hidden::default()));
            self.members.len() - 1
        });
        &mut self.members[at].1
    }

    /// Adds what is hidden in a member or an element: by its name, and by `*`.
    pub fn below<'h>(&'h self, name: &str, into: &mut Vec<&'h Hidden>) {
        let named = self.members.iter().filter(|(known, _)| known == name || known == "*");
        into.extend(named.map(|(_, hidden)| hidden));
    }

    /// Whether the part at the end of these names is hidden, has hidden parts, or lies in one.
    pub fn touches<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> bool {
        let mut at = vec![self];
        for name in names {
            if at.iter().any(|hidden| hidden.whole) {
                return true;
            }
            let mut below = Vec::new();
            at.into_iter().for_each(|hidden: &Self| hidden.below(name, &mut below));
            at = below;
        }
        at.iter().any(|hidden| !hidden.is_empty())
    }
}

/// The settings of a topic that name them.
pub(crate) fn check(pointers: &[String]) -> Result<(), Invalid> {
    if pointers.len() > MASK_POINTERS {
        return Err(Invalid::TooLarge {
            what: "number of pointers in mask",
            size: pointers.len(),
            limit: MASK_POINTERS,
        });
    }
    pointers.iter().try_for_each(|pointer| names_of(pointer).map(drop))
}

fn names_of(pointer: &str) -> Result<Vec<String>, Invalid> {
    let refuse = |reason: &str| {
        let reason = format!("{pointer:?} {reason}");
        Err(Invalid::Json { what: "pointer in mask", reason })
    };
    if pointer.len() > MASK_POINTER_BYTES {
        return Err(Invalid::TooLarge { what: "pointer in mask", size: pointer.len(), limit: MASK_POINTER_BYTES });
    }
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let Some(names) = pointer.strip_prefix('/') else {
        return refuse("does not begin with a slash; write /card/number for the member number of card");
    };
    let names: Vec<&str> = names.split('/').collect();
    if names.len() > MASK_POINTER_NAMES {
        return refuse("is too deep");
    }
    let unescaped = |name: &str| name.replace("~1", "/").replace("~0", "~");
    let is_escaped_well = |name: &&str| name.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if !names.iter().all(is_escaped_well) {
        return refuse("has a ~ that is neither ~0 nor ~1");
    }
    Ok(names.into_iter().map(unescaped).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(pointers: &[&str]) -> Hidden {
        let mut hidden = Hidden::default();
        let pointers: Vec<String> = pointers.iter().map(|&pointer| pointer.to_owned()).collect();
        hidden.add(&[], &pointers).unwrap();
        hidden
    }

    #[test]
    fn what_is_hidden_touches_what_is_above_and_below_it() {
        let hidden = hidden(&["/card/number", "/items/*/price"]);
        for (names, touched) in [
            (&["card"][..], true),
            (&["card", "number"], true),
            (&["card", "number", "x"], true),
            (&["card", "holder"], false),
            (&["items", "3", "price"], true),
            (&["items", "3", "name"], false),
            (&["total"], false),
            (&[], true),
        ] {
            assert_eq!(hidden.touches(names.iter().copied()), touched, "{names:?}");
        }
    }

    #[test]
    fn pointers_that_are_none_are_refused() {
        for bad in ["card", "/a~2b", "/a~", "#/a"] {
            assert!(check(&[bad.to_owned()]).is_err(), "{bad:?} passed");
        }
        for good in ["", "/", "/a~1b/~0", "/*/x"] {
            check(&[good.to_owned()]).unwrap();
        }
    }
}
