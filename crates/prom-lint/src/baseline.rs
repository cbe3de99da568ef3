//! `--baseline FILE`: how many findings of each rule a file may have, so that a project can begin with what it has.
//!
//! Counts survive edits that move lines. A file that has more than its count shows all of that rule, because which of them are
//! new is not known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::finding::Finding;

/// By file, from the root, and by rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    version: u32,
    files: BTreeMap<String, BTreeMap<String, u64>>,
}

const VERSION: u32 = 1;

/// What a baseline did to findings.
#[derive(Debug, Default)]
pub struct Compared {
    pub left: Vec<Finding>,
    pub hidden: u64,
    /// Entries that are too high: file, rule, and how many fewer there are.
    pub stale: Vec<(String, String, u64)>,
}

impl Baseline {
    /// Of everything that was found. `shown` names files as the baseline does.
    pub fn of(findings: &[Finding], shown: impl Fn(&Finding) -> String) -> Self {
        let mut baseline = Self { version: VERSION, files: BTreeMap::new() };
        for finding in findings {
            let rules = baseline.files.entry(shown(finding)).or_default();
            *rules.entry(finding.rule.id().to_owned()).or_default() += 1;
        }
        baseline
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match read.version {
            VERSION => Ok(read),
            other => Err(format!("it is of version {other}, and this program writes {VERSION}")),
        }
    }

    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// `judged` says of a file and a rule whether the run would have found what is there: only then a count can be too high.
    pub fn compare(
        &self,
        findings: Vec<Finding>,
        shown: impl Fn(&Finding) -> String,
        judged: impl Fn(&str, &str) -> bool,
    ) -> Compared {
        let now = Self::of(&findings, &shown);
        let mut compared = Compared::default();
        for finding in findings {
            let (file, rule) = (shown(&finding), finding.rule.id());
            if now.count(&file, rule) <= self.count(&file, rule) {
                compared.hidden += 1;
            } else {
                compared.left.push(finding);
            }
        }
        for (file, rules) in &self.files {
            for (rule, allowed) in rules {
                let fewer = allowed.saturating_sub(now.count(file, rule));
                if fewer > 0 && judged(file, rule) {
                    compared.stale.push((file.clone(), rule.clone(), fewer));
                }
            }
        }
        compared
    }

    /// With what an earlier baseline says of files and rules that this run did not judge.
    pub fn with_rest_of(mut self, before: Self, judged: impl Fn(&str, &str) -> bool) -> Self {
        for (file, rules) in before.files {
            for (rule, count) in rules {
                if !judged(&file, &rule) {
                    self.files.entry(file.clone()).or_default().entry(rule).or_insert(count);
                }
            }
        }
        self
    }

    /// Lowers every count to what there is; never raises one.
    pub fn pruned(&self, stale: &[(String, String, u64)]) -> Self {
        let mut pruned = self.clone();
        for (file, rule, fewer) in stale {
            if let Some(count) = pruned.files.get_mut(file).and_then(|rules| rules.get_mut(rule)) {
                *count -= fewer;
            }
        }
        pruned.files.values_mut().for_each(|rules| rules.retain(|_, count| *count > 0));
        pruned.files.retain(|_, rules| !rules.is_empty());
        pruned
    }

    fn count(&self, file: &str, rule: &str) -> u64 {
        self.files.get(file).and_then(|rules| rules.get(rule)).copied().unwrap_or(0)
    }
}
