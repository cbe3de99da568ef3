//! One write and one fdatasync: into a growing file, and into one whose blocks are there already.

use std::path::Path;

use super::JOURNAL_BYTES;
use crate::args::Measure;
use crate::bare::{Allocation, BareFile, write_and_sync};
use crate::table::{Table, milliseconds, ratio};

const SIZES: [(usize, &str); 3] = [(512, "512 B"), (30 << 10, "30 KB"), (300 << 10, "300 KB")];

pub fn measure(args: &Measure, dir: &Path) -> anyhow::Result<Table> {
    let columns = ["write", "growing p50", "p99", "pre-zeroed p50", "p99", "p50 ratio"];
    let mut table = Table::new("One write + fdatasync", &columns);
    for (size, name) in SIZES {
        eprintln!("  write + fdatasync of {name}");
        let bytes = vec![7; size];
        let mut growing = BareFile::make(&dir.join(format!("growing-{size}")), Allocation::Growing)?;
        let allocation = Allocation::PreZeroed { bytes: JOURNAL_BYTES };
        let mut zeroed = BareFile::make(&dir.join(format!("zeroed-{size}")), allocation)?;
        let samples = args.samples();
        let growing = write_and_sync(&mut growing, &bytes, samples)?;
        let zeroed = write_and_sync(&mut zeroed, &bytes, samples)?;
        table.row(vec![
            name.to_owned(),
            milliseconds(growing.p50_ms()),
            milliseconds(growing.p99_ms()),
            milliseconds(zeroed.p50_ms()),
            milliseconds(zeroed.p99_ms()),
            ratio(growing.p50_ms(), zeroed.p50_ms()),
        ]);
    }
    Ok(table)
}
