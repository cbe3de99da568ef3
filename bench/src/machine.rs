//! The machine in one line, for comparing figures.

use std::fs;

/// Processor, memory, kernel.
pub fn describe() -> String {
    let processors = std::thread::available_parallelism().map_or(1, |it| it.get());
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let memory = field("/proc/meminfo", "MemTotal").and_then(|text| {
        let kilobytes: f64 = text.split_whitespace().next()?.parse().ok()?;
        Some(format!("{:.0} GB of memory", kilobytes * 1024.0 / 1e9))
    });
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    // What a vendor adds to the version says nothing about speed.
    let kernel = kernel.trim().split('-').next().unwrap_or_default();
    format!("{processors} × {model}, {}, Linux {kernel}", memory.unwrap_or_else(|| "unknown memory".to_owned()))
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let value = |line: &str| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then(|| value.trim().to_owned())
    };
    text.lines().find_map(value)
}
