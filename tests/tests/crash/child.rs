//! The child process: started, watched through the facts it writes, killed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use prom_testkit::history::History;

const DEADLINE: Duration = Duration::from_secs(60);

pub struct CrashChild {
    process: Child,
    home: PathBuf,
}

pub fn data(home: &Path) -> PathBuf {
    home.join("data")
}

/// All facts that children in this directory ever wrote.
pub fn history(home: &Path) -> History {
    History::parse(&fs::read_to_string(facts(home)).unwrap_or_default()).unwrap()
}

pub fn facts(home: &Path) -> PathBuf {
    home.join("facts")
}

fn complaints(home: &Path) -> PathBuf {
    home.join("complaints")
}

impl CrashChild {
    pub fn start(home: &Path, seed: u64) -> Self {
        Self::start_program(env!("CARGO_BIN_EXE_crash_child"), home, seed)
    }

    pub fn start_program(program: &str, home: &Path, seed: u64) -> Self {
        repair(&facts(home));
        let process = Command::new(program)
            .args([data(home), facts(home)])
            .arg(seed.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(complaints(home)).unwrap())
            .spawn()
            .unwrap();
        Self { process, home: home.to_path_buf() }
    }

    /// Waits until it has written this many more facts.
    pub fn wait_for_more_facts(&mut self, facts_wanted: u64) {
        const BYTES_PER_FACT: u64 = 60;
        let length = || fs::metadata(facts(&self.home)).map_or(0, |about| about.len());
        let (from, started) = (length(), Instant::now());
        while length() < from + facts_wanted * BYTES_PER_FACT {
            assert!(started.elapsed() < DEADLINE, "the child makes no progress: {}", self.complaints());
            thread::sleep(Duration::from_millis(2));
            assert!(self.process.try_wait().unwrap().is_none(), "the child gave up: {}", self.complaints());
        }
    }

    /// So that the kill comes at an arbitrary moment.
    pub fn live_for_ms(&self, ms: u64) {
        thread::sleep(Duration::from_millis(ms));
    }

    pub fn kill(mut self) {
        assert!(self.process.try_wait().unwrap().is_none(), "the child gave up: {}", self.complaints());
        self.end();
    }

    fn end(&mut self) {
        // A process that has ended cannot be killed, and need not be.
        let _gone = self.process.kill();
        let _status = self.process.wait();
    }

    fn complaints(&self) -> String {
        fs::read_to_string(complaints(&self.home)).unwrap_or_default()
    }
}

impl Drop for CrashChild {
    fn drop(&mut self) {
        self.end();
    }
}

/// Removes an unfinished last line, so that the next writer's first line is whole.
fn repair(facts: &Path) {
    let Ok(text) = fs::read(facts) else {
        return;
    };
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let file = fs::OpenOptions::new().write(true).open(facts).unwrap();
    file.set_len(whole as u64).unwrap();
}
