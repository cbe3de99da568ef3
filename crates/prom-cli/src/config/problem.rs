//! What is wrong with a configuration: where, what, and what to write instead. Problems are gathered, so that one
//! look shows them all.

use std::fmt;

/// One thing to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// `prom.toml:3:1`, an environment variable or a flag.
    pub place: String,
    pub what: String,
    pub hint: Option<String>,
}

/// Everything to change, in the order in which it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblems(pub Vec<ConfigProblem>);

impl ConfigProblem {
    pub fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into(), hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<ConfigProblem> for ConfigProblems {
    fn from(problem: ConfigProblem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  {hint}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ConfigProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

/// Farther words are not what was meant.
const NEAR: f64 = 0.8;

/// The valid word that looks most like what was written.
pub fn nearest<'a>(written: &str, valid: &[&'a str]) -> Option<&'a str> {
    let score = |word: &&str| strsim::jaro_winkler(&written.to_lowercase(), word);
    let best = valid.iter().copied().max_by(|left, right| score(left).total_cmp(&score(right)))?;
    (score(&best) >= NEAR).then_some(best)
}

/// `did you mean …`, or the whole list where nothing is near.
pub fn suggestion(written: &str, valid: &[&str]) -> String {
    match nearest(written, valid) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("valid here: {}", valid.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_nonsense_is_not() {
        assert_eq!(nearest("lisen", &["data", "listen", "tls"]), Some("listen"));
        assert_eq!(nearest("Listen", &["data", "listen", "tls"]), Some("listen"));
        assert_eq!(nearest("zzz", &["data", "listen", "tls"]), None);
        assert_eq!(suggestion("zzz", &["data", "tls"]), "valid here: data, tls");
    }
}
