//! Reads what callgrind wrote: the total, and each function's own instructions.
//!
//! The format gives a name once, with a number in parentheses, and afterwards the number alone:
//!
//! ```text
//!   fn=(12) prom_store::record::Encoder::encode
//!   88 170                     a line, and the instructions of the function itself there
//!   cfn=(13) memcpy            a function that is called,
//!   calls=40 0
//!   +2 900                     and what the calls took: not its own
//!   totals: 1070
//! ```

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};

#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    pub total: u64,
    /// Name and own instructions, the most first.
    pub functions: Vec<(String, u64)>,
}

impl Profile {
    pub fn read(text: &str) -> Result<Self> {
        ensure!(text.contains("\nevents: Ir\n"), "not a profile of instructions alone");
        let total =
            text.lines().find_map(|line| line.strip_prefix("totals: ")).context("no totals: was it cut off?")?;
        let total = total.trim().parse().with_context(|| format!("the totals are {total:?}"))?;
        let mut names: HashMap<&str, &str> = HashMap::new();
        let mut own: HashMap<&str, u64> = HashMap::new();
        let mut current = "";
        let mut called = false;
        for line in text.lines() {
            if let Some(function) = line.strip_prefix("fn=") {
                current = number(function, &mut names);
            } else if let Some(function) = line.strip_prefix("cfn=") {
                number(function, &mut names);
            } else if line.starts_with("calls=") {
                called = true;
            } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
                let instructions = line.split(' ').nth(1).and_then(|cost| cost.parse().ok()).unwrap_or(0);
                if !std::mem::take(&mut called) {
                    *own.entry(current).or_default() += instructions;
                }
            }
        }
        let named = |(number, own): (&str, u64)| (names.get(number).map_or(number, |name| name).to_owned(), own);
        let mut functions: Vec<(String, u64)> = own.into_iter().map(named).collect();
        functions.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        Ok(Self { total, functions })
    }
}

/// The number of `(12) name` or `(12)`; remembers the name.
fn number<'t>(function: &'t str, names: &mut HashMap<&'t str, &'t str>) -> &'t str {
    match function.split_once(' ') {
        Some((number, name)) => {
            names.insert(number, name);
            number
        }
        None => function,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "\
# callgrind format
version: 1
desc: Trigger: --dump-before=counting_ends_here

positions: line
events: Ir
summary: 1570

ob=(1) /bin/program
fl=(1) src/encode.rs
fn=(12) Encoder::encode
88 170
+2 30
cfi=(2) memcpy.S
cfn=(13) memcpy
calls=40 0
* 900
-5 70

fn=(13)
0 900

fn=(12)
90 400

totals: 1570
";

    #[test]
    fn a_function_has_its_own_instructions_and_not_those_of_what_it_calls() {
        let profile = Profile::read(WRITTEN).unwrap();
        assert_eq!(profile.total, 1570);
        let expected = [("memcpy".to_owned(), 900), ("Encoder::encode".to_owned(), 670)];
        assert_eq!(profile.functions, expected);
    }

    #[test]
    fn what_is_not_a_whole_profile_of_instructions_is_refused() {
        let cut_off = WRITTEN.replace("totals: 1570\n", "");
        assert!(Profile::read(&cut_off).unwrap_err().to_string().contains("no totals"));
        let other_events = WRITTEN.replace("events: Ir", "events: Ir Dr");
        assert!(Profile::read(&other_events).is_err());
        assert!(Profile::read(&WRITTEN.replace("totals: 1570", "totals: many")).is_err());
    }
}
