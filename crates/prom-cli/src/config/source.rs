//! A configuration file while it is being read: its text, where things stand in it, and what is wrong with it so far.

use std::cell::RefCell;
use std::ops::Range;

use super::problem::{ConfigProblem, ConfigProblems};

pub struct Source<'a> {
    file: &'a str,
    text: &'a str,
    problems: RefCell<Vec<(usize, ConfigProblem)>>,
}

impl<'a> Source<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, problems: RefCell::default() }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The whole line at a position.
    pub fn line_at(&self, at: usize) -> &'a str {
        let at = self.text.floor_char_boundary(at);
        let begin = self.text[..at].rfind('\n').map_or(0, |before| before + 1);
        self.text[begin..].lines().next().unwrap_or_default()
    }

    pub fn complain(&self, at: Range<usize>, what: impl Into<String>, hint: Option<String>) {
        let problem = ConfigProblem { place: self.place(at.start), what: what.into(), hint };
        self.problems.borrow_mut().push((at.start, problem));
    }

    /// Lines and columns count from 1, columns in characters.
    fn place(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{}:{line}:{column}", self.file)
    }

    pub fn finish(self) -> Result<(), ConfigProblems> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|(at, _)| *at);
        if problems.is_empty() {
            Ok(())
        } else {
            Err(ConfigProblems(problems.into_iter().map(|(_, problem)| problem).collect()))
        }
    }
}
