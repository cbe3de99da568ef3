//! The machine in one line, for comparing figures.

use procfs::{CpuInfo, Current, Meminfo};

/// Processor, memory, kernel.
pub fn describe() -> String {
    let processors = std::thread::available_parallelism().map_or(1, |it| it.get());
    let cpu = CpuInfo::current().ok();
    let model = cpu.as_ref().and_then(|cpu| cpu.model_name(0)).unwrap_or("unknown processor");
    let memory = Meminfo::current()
        .map_or_else(|_| "unknown memory".to_owned(), |it| format!("{:.0} GB of memory", it.mem_total as f64 / 1e9));
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    // What a vendor adds to the version says nothing about speed.
    format!("{processors} × {model}, {memory}, Linux {}", kernel.split('-').next().unwrap_or_default())
}
