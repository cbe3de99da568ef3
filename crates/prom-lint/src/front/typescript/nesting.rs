//! How deep a parser would go into a text, told before it goes: it recurses with every level, and no stack bears all of them.
//!
//! Promise: never far below what the parser does. It counts brackets that are open, and what continues an expression without
//! one, such as `a.b.c`, `a()()` or `<a><b>`. Strings and comments do not count.

/// The deepest place.
pub fn deepest(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut around = Vec::new();
    let (mut depth, mut joints, mut deepest, mut at) = (0_usize, 0_usize, 0_usize, 0_usize);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'/' if matches!(bytes.get(at), Some(b'/' | b'*')) => at = behind_comment(bytes, at),
            b'"' | b'\'' => at = behind_string(bytes, at, *byte),
            b'(' | b'[' | b'{' => {
                around.push(joints);
                depth += joints + 1;
                joints = 0;
            }
            b')' | b']' | b'}' => {
                let before = around.pop().unwrap_or(0);
                depth = depth.saturating_sub(before + 1);
                let ends = *byte == b'}' && begins_statement(bytes, at);
                joints = if ends { 0 } else { before + 1 };
            }
            b';' | b',' => joints = 0,
            b'.' | b'<' | b'>' | b'?' | b':' | b'!' | b'~' | b'=' | b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|'
            | b'^' | b'`' => joints += 1,
            _ => {}
        }
        deepest = deepest.max(depth + joints);
    }
    deepest
}

/// Whether what follows a brace is the next statement and not more of an expression.
fn begins_statement(bytes: &[u8], at: usize) -> bool {
    let next = bytes[at..].iter().find(|byte| !byte.is_ascii_whitespace());
    next.is_none_or(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'}' | b'@' | b'/'))
}

fn behind_comment(bytes: &[u8], at: usize) -> usize {
    let end = if bytes[at] == b'/' {
        bytes[at..].iter().position(|byte| *byte == b'\n')
    } else {
        bytes[at + 1..].windows(2).position(|pair| pair == b"*/").map(|found| found + 3)
    };
    end.map_or(bytes.len(), |end| at + end)
}

/// An apostrophe in text opens nothing: a string ends on its line.
fn behind_string(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut behind = at;
    while let Some(byte) = bytes.get(behind) {
        behind += match byte {
            b'\\' => 2,
            b'\n' => return at,
            byte if *byte == quote => return behind + 1,
            _ => 1,
        };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_parser_recurses_into_is_counted() {
        for deep in [
            "(", "[", "{a:", ".b", "()", "+1", "<a>", "!", "Array<", "`${", "?.b", "=>", "if(a)", "f(", "{x}<a>",
            " as a[]",
        ] {
            let text = format!("x = a{}", deep.repeat(9000));
            assert!(deepest(&text) >= 9000, "{deep}: {}", deepest(&text));
        }
    }

    #[test]
    fn long_files_are_not_deep() {
        for flat in [
            "a.b(c).d;\n",
            "function f() { return [1, 2].map((x) => x.y) }\n",
            "function f(){}",
            "x = { a: 1, b: `c` };",
            "// ((((\n",
            "/* [[[ */",
            "s = 'M1.5.5-3.2(((';",
            "class A { m() {} }\n",
            "if (a) { b() } else { c() }\n",
        ] {
            assert!(deepest(&flat.repeat(9000)) < 40, "{flat}: {}", deepest(&flat.repeat(9000)));
        }
    }
}
