//! The memory that this process takes.

use anyhow::Context;

/// Resident set size, as the operating system counts it.
pub fn resident_bytes() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kilobytes = |line: &str| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<u64>().ok();
    let found = status.lines().find_map(kilobytes);
    Ok(found.context("the operating system does not say")? * 1024)
}
