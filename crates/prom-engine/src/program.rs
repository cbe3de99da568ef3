//! Programs of users that are no filter of a group: transforms and searches, run where no one waits for anything else.
//!
//! Promises: no program runs on a thread that serves others. Work is cut into turns, and between two turns others that wait for
//! a place get theirs ([`crate::filter`]). Answers are in the order of what was given.

use std::sync::Arc;

use prom_transform::Program;

use crate::filter::{Lane, ProgramTurn};
use crate::{Bus, Error};

impl Bus {
    /// Checks and compiles a jq program.
    pub async fn compile_program(&self, text: &str) -> Result<Program, Error> {
        Ok(self.core().filter_places.compile(text).await?)
    }

    /// Does something to each, turn by turn, where it may take long.
    pub async fn in_turns<T, U>(
        &self,
        items: Vec<T>,
        each: impl Fn(T) -> U + Send + Sync + 'static,
    ) -> Result<Vec<U>, Error>
    where
        T: Send + 'static,
        U: Send + 'static,
    {
        let each = Arc::new(each);
        let mut done = Vec::with_capacity(items.len());
        let mut left = items;
        while !left.is_empty() {
            let each = each.clone();
            let turn = move || turn(left, &*each);
            let (made, rest) = self.core().filter_places.run_in(Lane::Background, turn).await.ok_or_else(stopped)?;
            done.extend(made);
            left = rest;
        }
        Ok(done)
    }
}

/// At least one, and those that are left when the turn is over.
fn turn<T, U>(items: Vec<T>, each: &impl Fn(T) -> U) -> (Vec<U>, Vec<T>) {
    let program_turn = ProgramTurn::begin();
    let mut items = items.into_iter();
    let mut made = Vec::with_capacity(items.len());
    for item in items.by_ref() {
        made.push(each(item));
        if program_turn.is_over() {
            break;
        }
    }
    (made, items.collect())
}

fn stopped() -> Error {
    Error::NotReady { reason: "a program was stopped before its end; try again".to_owned() }
}
