//! What the operating system says about a process: the memory it takes and the time it has had.

use std::time::Duration;

use anyhow::Context;
use procfs::process::Process;

/// Resident memory in megabytes, and its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resident {
    pub total_mb: f64,
    /// Its own: heap and stacks.
    pub anonymous_mb: f64,
    /// The program and its libraries, shared with the page cache: given back when memory is short.
    pub file_mb: f64,
}

pub fn resident(process: i32) -> anyhow::Result<Resident> {
    let status = Process::new(process)?.status()?;
    let megabytes = |kilobytes: Option<u64>| kilobytes.map(|kilobytes| kilobytes as f64 * 1024.0 / 1e6);
    let parts = megabytes(status.vmrss).zip(megabytes(status.rssanon)).zip(megabytes(status.rssfile));
    let ((total_mb, anonymous_mb), file_mb) = parts.context("the operating system does not say what memory it has")?;
    Ok(Resident { total_mb, anonymous_mb, file_mb })
}

/// The most resident memory it ever had, in megabytes.
pub fn peak_mb(process: i32) -> anyhow::Result<f64> {
    let peak = Process::new(process)?.status()?.vmhwm;
    peak.map(|kilobytes| kilobytes as f64 * 1024.0 / 1e6).context("the operating system does not say how much it was")
}

/// Processor time of all its threads that live, to the nanosecond: ticks of 10 ms are too coarse for what idles.
pub fn processor_time(process: i32) -> anyhow::Result<Duration> {
    // A thread may end while we look.
    let threads = Process::new(process)?.tasks()?.flatten().filter_map(|thread| thread.schedstat().ok());
    Ok(Duration::from_nanos(threads.map(|times| times.sum_exec_runtime).sum()))
}

/// A process and those it started, by the group they share.
pub fn group_of(leader: i32) -> anyhow::Result<Vec<i32>> {
    let stats = procfs::process::all_processes()?.flatten().filter_map(|process| process.stat().ok());
    Ok(stats.filter(|stat| stat.pgrp == leader).map(|stat| stat.pid).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this() -> i32 {
        i32::try_from(std::process::id()).unwrap()
    }

    #[test]
    fn memory_is_told_with_what_it_is_made_of() {
        let resident = resident(this()).unwrap();
        assert!(resident.total_mb > 0.5 && resident.anonymous_mb > 0.0 && resident.file_mb > 0.0, "{resident:?}");
        assert!(resident.anonymous_mb + resident.file_mb <= resident.total_mb * 1.01, "{resident:?}");
    }

    #[test]
    fn work_costs_processor_time() {
        let before = processor_time(this()).unwrap();
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(30) {
            std::hint::spin_loop();
        }
        assert!(processor_time(this()).unwrap() > before);
    }

    #[test]
    fn a_process_that_is_gone_is_an_error() {
        assert!(resident(0x3fff_fff0).is_err());
        assert!(processor_time(0x3fff_fff0).is_err());
    }
}
