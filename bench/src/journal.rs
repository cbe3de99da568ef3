//! `prom-bench journal`: the measurements on which the storage design rests.
//!
//! Plain files, no code of the store: one journal for everything against a file per partition, and
//! what filling segments behind the journal costs.

pub mod behind;
mod layout;
mod single_write;

use crate::args::JournalArgs;
use crate::work_dir::WorkDir;

/// The size of one event in the journal: 256 bytes of payload and what is around it.
const EVENT_BYTES: usize = 300;
const JOURNAL_BYTES: u64 = 64 << 20;
const WARM_BYTES: u64 = 4 << 30;

pub fn run(args: &JournalArgs) -> anyhow::Result<()> {
    let work_dir = WorkDir::make(&args.files)?;
    let about = work_dir.describe();
    eprintln!("measuring: {about}");
    work_dir.warm(WARM_BYTES)?;
    let tables = [
        single_write::measure(&args.measure, work_dir.path())?,
        layout::measure(&args.measure, work_dir.path())?,
        behind::measure(&args.measure, work_dir.path())?,
    ];
    if args.measure.json {
        let tables: Vec<_> = tables.iter().map(|table| table.to_json()).collect();
        println!("{}", serde_json::json!({ "machine": about, "tables": tables }));
    } else {
        println!("{about}\n");
        tables.iter().for_each(|table| println!("{table}"));
    }
    Ok(())
}
