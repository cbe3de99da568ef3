//! Writing events: as they are, or what a jq program makes of them. Counts them too.

use std::io::{self, Write};

use prom_client::StoredEvent;
use prom_transform::Program;

use crate::exit::{CommandResult, Failure};

pub struct Printer {
    program: Option<Program>,
    left: Option<u64>,
}

impl Printer {
    pub fn new(program: Option<Program>, count: Option<u64>) -> Self {
        Self { program, left: count }
    }

    /// How many events are still wanted, if that is limited.
    pub fn left(&self) -> Option<u64> {
        self.left
    }

    pub fn is_done(&self) -> bool {
        self.left == Some(0)
    }

    /// Written and flushed when this returns.
    pub fn print(&mut self, event: &StoredEvent) -> CommandResult {
        let lines = match &self.program {
            None => vec![event.text().to_vec()],
            Some(program) => program.run(event.text()).map_err(|error| {
                let place = format!("{}/{} offset {}", event.topic(), event.partition(), event.offset());
                Failure::no(format!("the jq program failed on {place}: {error}"))
                    .fix("that event was not acknowledged; fix the program and start again")
            })?,
        };
        let mut stdout = io::stdout().lock();
        for mut line in lines {
            line.push(b'\n');
            stdout.write_all(&line)?;
        }
        stdout.flush()?;
        self.left = self.left.map(|left| left.saturating_sub(1));
        Ok(())
    }
}
