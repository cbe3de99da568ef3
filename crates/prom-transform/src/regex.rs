//! Regular expressions: as in jq's library, and metered.
//!
//! One search takes the size of the compiled expression times the length of the subject, and cannot be interrupted. So
//! that much is charged before it begins, and a search that could take too long does not begin. The clock is looked at after
//! every match. Compiled expressions are kept for the next event.

use std::cell::RefCell;
use std::rc::Rc;

use jaq_core::{Cv, DataT, ValT as _};
use jaq_std::ValT as _;
use regex_bites::bytes::{Captures, Match, Regex, RegexBuilder};

use crate::limits::{REGEX_PROGRAM_BYTES, REGEX_PROGRAMS, REGEX_SUBJECT_BYTES};
use crate::meter;
use crate::value::{Error, Value, ValueResult};

/// Bytes of a compiled expression times bytes of a subject that take about as long as one step, at worst.
const WORK_PER_STEP: usize = 512;
/// Charged for a match, so that the clock is looked at.
const STEPS_PER_MATCH: usize = 128;
/// The size of a compiled expression is known to this factor.
const SIZE_STEP: usize = 4;
const SMALLEST_SIZE: usize = 1024;

/// Which parts of the subject are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts {
    Matches,
    Between,
    Both,
}

struct Expression {
    pattern: String,
    flags: String,
    regex: Regex,
    /// Of the compiled expression, rounded up.
    bytes: usize,
    is_global: bool,
    skips_empty: bool,
}

thread_local! {
    /// The newest last.
    static KNOWN: RefCell<Vec<Rc<Expression>>> = const { RefCell::new(Vec::new()) };
}

/// `matches($re; $flags)` and its relatives on the value of `cv`.
pub(crate) fn search<D: for<'a> DataT<V<'a> = Value>>(parts: Parts, mut cv: Cv<'_, D>) -> ValueResult {
    let (flags, pattern) = (cv.0.pop_var(), cv.0.pop_var());
    let expression = expression(text_of(&pattern)?, text_of(&flags)?)?;
    let subject = cv.1.try_as_utf8_bytes()?;
    if subject.len() > REGEX_SUBJECT_BYTES {
        return Err(Error::str(format_args!(
            "a string of {} bytes is too long for regular expressions (at most {REGEX_SUBJECT_BYTES})",
            subject.len()
        )));
    }
    meter::work(expression.bytes.saturating_mul(subject.len()) / WORK_PER_STEP);
    let text = |part: &[u8]| cv.1.as_sub_str(part);
    let mut found: Vec<ValueResult> = Vec::new();
    let (mut end, mut characters) = (0, Characters::default());
    for captures in expression.regex.captures_iter(subject) {
        meter::work(STEPS_PER_MATCH);
        let Some(whole) = captures.get(0) else { continue };
        if expression.skips_empty && whole.as_bytes().is_empty() {
            continue;
        }
        if parts != Parts::Matches {
            found.push(Ok(text(&subject[end..whole.start()])));
            end = whole.end();
        }
        if parts != Parts::Between {
            let begin = characters.before(subject, whole.start());
            found.push(described(&expression.regex, &captures, subject, (whole.start(), begin), &text));
        }
        if !expression.is_global {
            break;
        }
    }
    if parts != Parts::Matches {
        found.push(Ok(text(&subject[end..])));
    }
    found.into_iter().collect()
}

/// A match as a list: the whole, then each group that took part. `begin` is where it begins, in bytes and in characters.
fn described(
    regex: &Regex,
    captures: &Captures<'_>,
    subject: &[u8],
    begin: (usize, usize),
    text: &impl Fn(&[u8]) -> Value,
) -> ValueResult {
    let field = |name: &str, value: Value| (Value::string(name.as_bytes().to_vec()), value);
    let group = |(group, name): (Option<Match<'_>>, Option<&str>)| {
        let group = group?;
        let offset = begin.1 + count(&subject[begin.0..group.start()]);
        let mut fields = vec![
            field("offset", offset.into()),
            field("length", count(group.as_bytes()).into()),
            field("string", text(group.as_bytes())),
        ];
        fields.extend(name.map(|name| field("name", Value::string(name.as_bytes().to_vec()))));
        Some(Value::from_map(fields))
    };
    captures.iter().zip(regex.capture_names()).filter_map(group).collect()
}

/// Counts characters up to places that only move forward.
#[derive(Default)]
struct Characters {
    bytes: usize,
    characters: usize,
}

impl Characters {
    fn before(&mut self, subject: &[u8], place: usize) -> usize {
        self.characters += count(&subject[self.bytes..place]);
        self.bytes = place;
        self.characters
    }
}

/// Characters of UTF-8 text: bytes that do not continue one.
fn count(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

fn text_of(value: &Value) -> Result<&str, Error> {
    let text = value.try_as_utf8_bytes()?;
    std::str::from_utf8(text).map_err(|_| Error::typ(value.clone(), "string"))
}

fn expression(pattern: &str, flags: &str) -> Result<Rc<Expression>, Error> {
    KNOWN.with_borrow_mut(|known| {
        if let Some(at) = known.iter().position(|known| known.pattern == pattern && known.flags == flags) {
            known[at..].rotate_left(1);
        } else {
            let compiled = Rc::new(compile(pattern, flags)?);
            if known.len() >= REGEX_PROGRAMS {
                known.remove(0);
            }
            known.push(compiled);
        }
        known.last().cloned().ok_or_else(|| Error::str("no regular expression"))
    })
}

fn compile(pattern: &str, flags: &str) -> Result<Expression, Error> {
    let mut builder = RegexBuilder::new(pattern);
    let (mut is_global, mut skips_empty) = (false, false);
    for flag in flags.chars() {
        match flag {
            'g' => is_global = true,
            'n' => skips_empty = true,
            'i' => drop(builder.case_insensitive(true)),
            'm' => drop(builder.multi_line(true)),
            's' => drop(builder.dot_matches_new_line(true)),
            'p' => drop(builder.multi_line(true).dot_matches_new_line(true)),
            'l' => drop(builder.swap_greed(true)),
            'x' => drop(builder.ignore_whitespace(true)),
            other => return Err(Error::str(format_args!("invalid regex flag: {other}"))),
        }
    }
    let mut bytes = SMALLEST_SIZE;
    loop {
        meter::build(bytes);
        match builder.size_limit(bytes).build() {
            Ok(regex) => {
                let (pattern, flags) = (pattern.to_owned(), flags.to_owned());
                return Ok(Expression { pattern, flags, regex, bytes, is_global, skips_empty });
            }
            Err(error) if bytes >= REGEX_PROGRAM_BYTES => {
                return Err(Error::str(format_args!("invalid regex: {error}")));
            }
            Err(_) => bytes *= SIZE_STEP,
        }
    }
}
