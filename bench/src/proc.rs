//! What the operating system says about a process: the memory it takes and the time it has had.

use std::fs;
use std::time::Duration;

use anyhow::Context;

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
    let status = fs::read_to_string(format!("/proc/{process}/status")).context("the process has ended")?;
    let (total, anonymous, file) = (field(&status, "VmRSS:"), field(&status, "RssAnon:"), field(&status, "RssFile:"));
    Ok(Resident { total_mb: total?, anonymous_mb: anonymous?, file_mb: file? })
}

/// A field of `/proc/…/status` in megabytes.
fn field(status: &str, name: &str) -> anyhow::Result<f64> {
    let kilobytes = |line: &str| line.strip_prefix(name)?.split_whitespace().next()?.parse::<f64>().ok();
    let found = status.lines().find_map(kilobytes);
    Ok(found.with_context(|| format!("the operating system does not say {name}"))? * 1024.0 / 1e6)
}

/// Processor time of all its threads that live, to the nanosecond: ticks of 10 ms are too coarse for what idles.
pub fn processor_time(process: i32) -> anyhow::Result<Duration> {
    let mut nanoseconds = 0;
    for task in fs::read_dir(format!("/proc/{process}/task")).context("the process has ended")? {
        // A thread may end while we look.
        let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
        nanoseconds += text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// A process and those it started, by the group they share.
#[cfg(feature = "peers")]
pub fn group_of(leader: i32) -> anyhow::Result<Vec<i32>> {
    let processes = fs::read_dir("/proc")?.flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_member = |process: &i32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // Behind the name, which may hold anything: state, parent, group.
        let group = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(2)?.parse::<i32>().ok());
        group == Some(leader)
    };
    Ok(ids.filter(is_member).collect())
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
