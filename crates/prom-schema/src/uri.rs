//! Names of schemas and references to them: joining a relative one to its base, and decoding fragments.

/// Enough of relative references for names inside one document; what it cannot join is unknown, and refused.
pub(crate) fn join(base: &str, reference: &str) -> String {
    let has_scheme = reference.split_once(':').is_some_and(|(scheme, _)| !scheme.contains('/'));
    if has_scheme {
        return reference.to_owned();
    }
    let root_end = base.find("://").map_or(0, |at| base[at + 3..].find('/').map_or(base.len(), |end| at + 3 + end));
    let (root, path) = base.split_at(root_end);
    let folder = path.rfind('/').map_or("", |at| &path[..at]);
    let joined = match reference.starts_with('/') {
        true => without_dots(reference),
        false if folder.is_empty() && root.is_empty() && !path.starts_with('/') => without_dots(reference),
        false => without_dots(&format!("{folder}/{reference}")),
    };
    format!("{root}{joined}")
}

/// A path in which `.` and `..` are followed.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "." => {}
            ".." if kept.last().is_some_and(|last| !last.is_empty() && *last != "..") => drop(kept.pop()),
            // Nothing lies above the root.
            ".." if kept.first() == Some(&"") => {}
            other => kept.push(other),
        }
    }
    kept.join("/")
}

pub(crate) fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let value = digit(rest.next())? * 16 + digit(rest.next())?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_joined_as_addresses_are() {
        for (base, reference, joined) in [
            ("", "a.json", "a.json"),
            ("https://a.example/x/y.json", "z.json", "https://a.example/x/z.json"),
            ("https://a.example/x/y.json", "/z.json", "https://a.example/z.json"),
            ("https://a.example", "z.json", "https://a.example/z.json"),
            ("https://a.example/x", "urn:b", "urn:b"),
            ("https://a.example/x/y.json", "./z.json", "https://a.example/x/z.json"),
            ("https://a.example/x/y.json", "../z.json", "https://a.example/z.json"),
            ("https://a.example/x/y.json", "../../../z.json", "https://a.example/z.json"),
            ("https://a.example/x/y.json", "w/../z.json", "https://a.example/x/z.json"),
            ("", "./a.json", "a.json"),
            ("a.json", "b.json", "b.json"),
            ("x/a.json", "../b.json", "b.json"),
        ] {
            assert_eq!(join(base, reference), joined);
        }
    }
}
