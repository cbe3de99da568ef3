//! Single values of the file: what is accepted, and what is said about the rest.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeValue;

use super::problem::suggestion;
use crate::units;

/// Text that is not empty.
pub fn text(value: &DeValue<'_>) -> Result<String, String> {
    match value.as_str() {
        Some("") => Err("it is empty; remove the line, or give it a value".to_owned()),
        Some(text) => Ok(text.to_owned()),
        None => Err(expected("text in quotes", value)),
    }
}

/// Text that may be empty.
pub fn any_text(value: &DeValue<'_>) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| expected("text in quotes", value))
}

pub fn path(value: &DeValue<'_>) -> Result<PathBuf, String> {
    text(value).map(PathBuf::from)
}

pub fn flag(value: &DeValue<'_>) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| expected("true or false", value))
}

/// A whole number within a range.
pub fn number<T>(range: RangeInclusive<T>) -> impl FnOnce(&DeValue<'_>) -> Result<T, String>
where
    T: TryFrom<u64> + PartialOrd + std::fmt::Display,
{
    move |value| {
        let integer = value.as_integer().ok_or_else(|| expected("a whole number", value))?;
        let parsed = u64::from_str_radix(integer.as_str(), integer.radix()).ok().and_then(|n| T::try_from(n).ok());
        match parsed {
            Some(number) if range.contains(&number) => Ok(number),
            _ => Err(format!("expected a whole number from {} to {}, found {integer}", range.start(), range.end())),
        }
    }
}

pub fn duration(value: &DeValue<'_>) -> Result<Duration, String> {
    match value.as_str() {
        Some(text) => units::parse_duration(text),
        None => Err(expected("a duration such as \"30s\"", value)),
    }
}

/// A size such as "1MiB", or a number of bytes.
pub fn size(value: &DeValue<'_>) -> Result<u64, String> {
    match (value.as_str(), value.is_integer()) {
        (Some(text), _) => units::parse_size(text),
        (None, true) => number(0..=u64::MAX)(value),
        (None, false) => Err(expected("a size such as \"10GB\"", value)),
    }
}

pub fn address(value: &DeValue<'_>) -> Result<SocketAddr, String> {
    match value.as_str() {
        Some(text) => parse_address(text),
        None => Err(expected("an address such as \"127.0.0.1:8090\"", value)),
    }
}

pub fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
        return Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    }
    text.parse().map_err(|_| {
        format!("`{text}` is not an address and a port; write such as \"127.0.0.1:8090\" or \"[::1]:8090\"")
    })
}

/// One word of a list; the error names the nearest.
pub fn one_of<T: Clone>(words: &[(&str, T)]) -> impl FnOnce(&DeValue<'_>) -> Result<T, String> {
    move |value| match value.as_str() {
        Some(text) => parse_one_of(text, words),
        None => Err(expected("text in quotes", value)),
    }
}

pub fn parse_one_of<T: Clone>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    match words.iter().find(|(word, _)| *word == text) {
        Some((_, meaning)) => Ok(meaning.clone()),
        None => {
            let valid: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            Err(format!("`{text}` is not one of {}; {}", valid.join(", "), suggestion(text, &valid)))
        }
    }
}

pub fn texts(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let list = value.as_array().ok_or_else(|| expected("a list such as [\"a\", \"b\"]", value))?;
    list.iter().map(|item| text(item.get_ref())).collect()
}

/// The beginning of a web address.
pub fn web_address(value: &DeValue<'_>) -> Result<String, String> {
    text(value).and_then(|text| parse_web_address(&text))
}

pub fn parse_web_address(text: &str) -> Result<String, String> {
    match reqwest::Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(text.to_owned()),
        _ => Err(format!("`{text}` is not a web address; it begins with http:// or https:// and names a host")),
    }
}

fn expected(what: &str, found: &DeValue<'_>) -> String {
    format!("expected {what}, found {}", found.type_str())
}
