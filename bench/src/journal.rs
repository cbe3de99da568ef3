//! `prom-bench journal`: the measurements on which the storage design rests.
//!
//! Plain files, no code of the store: one journal for everything against a file per partition, and
//! what filling segments behind the journal costs.

pub mod behind;
mod ground;
mod layout;

use crate::args::{Args, Output};
use crate::place::Place;

/// The size of one event in the journal: 256 bytes of payload and what is around it.
const EVENT_BYTES: usize = 300;
const JOURNAL_BYTES: u64 = 64 << 20;
const WARM_BYTES: u64 = 4 << 30;

pub fn run(args: &Args) -> anyhow::Result<()> {
    let place = Place::make(args)?;
    let about = place.describe();
    eprintln!("measuring: {about}");
    place.warm(WARM_BYTES)?;
    let tables = [
        ground::measure(args, place.path())?,
        layout::measure(args, place.path())?,
        behind::measure(args, place.path())?,
    ];
    match args.output {
        Output::Table => {
            println!("{about}\n");
            tables.iter().for_each(|table| println!("{table}"));
        }
        Output::Json => {
            let tables: Vec<_> = tables.iter().map(|table| table.to_json()).collect();
            println!("{}", serde_json::json!({ "machine": about, "tables": tables }));
        }
    }
    Ok(())
}
