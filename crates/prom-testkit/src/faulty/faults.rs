//! The switches and counters of a faulty disk.

use std::io;
use std::path::{Component, Path};
use std::time::Duration;

use parking_lot::Mutex;

/// The files that a fault affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultScope {
    Everywhere,
    Journal,
    Segments,
    /// The document database, which does its own I/O: only its syncs can fail.
    Documents,
}

/// Which operations fail, counted since the fault was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailsOn {
    Every,
    /// Only this one; the first is 1.
    Nth(u64),
}

/// The operations that a delay slows down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slow {
    Syncs,
    Writes,
}

/// The operations so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskCounts {
    pub reads: u64,
    pub writes: u64,
    pub bytes_written: u64,
    pub syncs: u64,
}

/// The switches. Shared by the test and the disk.
#[derive(Default)]
pub struct Faults(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    syncs: Option<(FaultScope, FailsOn, u64)>,
    room: Option<(FaultScope, u64)>,
    reads: Option<FaultScope>,
    delay: Option<(FaultScope, Slow, Duration)>,
    then: Option<(FaultScope, Box<dyn FnOnce() + Send>)>,
    counts: [DiskCounts; 4],
}

/// What the disk does with a write.
pub(super) enum WriteAction {
    Write,
    /// Only this many bytes fit.
    Cut(usize),
}

impl FaultScope {
    fn covers(self, path: &Path) -> bool {
        self == Self::Everywhere || self == Self::of(path)
    }

    /// By the names of the directories on the path to the file.
    fn of(path: &Path) -> Self {
        let below = |prefix: &str| {
            let starts = |it: Component<'_>| it.as_os_str().to_string_lossy().starts_with(prefix);
            path.components().any(starts)
        };
        let scopes = [("journal", Self::Journal), ("segments", Self::Segments), ("logs", Self::Segments)];
        let scopes = scopes.into_iter().chain([("documents", Self::Documents)]);
        scopes.into_iter().find(|(prefix, _)| below(prefix)).map_or(Self::Everywhere, |(_, scope)| scope)
    }

    fn index(self) -> usize {
        match self {
            Self::Everywhere => 0,
            Self::Journal => 1,
            Self::Segments => 2,
            Self::Documents => 3,
        }
    }
}

impl Faults {
    /// Syncs of files and directories return an I/O error and sync nothing.
    pub fn fail_syncs(&self, place: FaultScope, which: FailsOn) {
        self.0.lock().syncs = Some((place, which, 0));
    }

    /// The disk is full once files have grown by this many more bytes. Overwriting needs no space.
    pub fn fill_up(&self, place: FaultScope, room_bytes: u64) {
        self.0.lock().room = Some((place, room_bytes));
    }

    pub fn fail_reads(&self, place: FaultScope) {
        self.0.lock().reads = Some(place);
    }

    pub fn delay(&self, place: FaultScope, what: Slow, by: Duration) {
        self.0.lock().delay = Some((place, what, by));
    }

    /// Does this once, right after the next sync there has succeeded and before its caller learns of it.
    pub fn after_next_sync(&self, place: FaultScope, act: impl FnOnce() + Send + 'static) {
        self.0.lock().then = Some((place, Box::new(act)));
    }

    /// Ends all faults; the counters continue.
    pub fn heal(&self) {
        let mut inner = self.0.lock();
        let counts = inner.counts;
        *inner = Inner { counts, ..Inner::default() };
    }

    /// The operations on files of this scope; `Everywhere` is the sum.
    pub fn counts(&self, place: FaultScope) -> DiskCounts {
        let inner = self.0.lock();
        match place {
            FaultScope::Everywhere => inner.counts.iter().fold(DiskCounts::default(), |sum, more| DiskCounts {
                reads: sum.reads + more.reads,
                writes: sum.writes + more.writes,
                bytes_written: sum.bytes_written + more.bytes_written,
                syncs: sum.syncs + more.syncs,
            }),
            place => inner.counts[place.index()],
        }
    }

    pub(super) fn before_read(&self, path: &Path) -> io::Result<()> {
        let mut inner = self.0.lock();
        inner.counts[FaultScope::of(path).index()].reads += 1;
        if inner.reads.is_some_and(|place| place.covers(path)) { Err(input_output_error()) } else { Ok(()) }
    }

    /// `growth` of the `length` bytes lie beyond the end of the file.
    pub(super) fn before_write(&self, path: &Path, length: usize, growth: usize) -> WriteAction {
        self.wait(path, Slow::Writes);
        let mut inner = self.0.lock();
        let counts = &mut inner.counts[FaultScope::of(path).index()];
        counts.writes += 1;
        counts.bytes_written += length as u64;
        match &mut inner.room {
            Some((place, room)) if place.covers(path) => {
                let fits = growth.min(usize::try_from(*room).unwrap_or(usize::MAX));
                *room -= fits as u64;
                if fits == growth { WriteAction::Write } else { WriteAction::Cut(length - growth + fits) }
            }
            _ => WriteAction::Write,
        }
    }

    pub(super) fn before_sync(&self, path: &Path) -> io::Result<()> {
        self.wait(path, Slow::Syncs);
        let mut inner = self.0.lock();
        inner.counts[FaultScope::of(path).index()].syncs += 1;
        match &mut inner.syncs {
            Some((place, which, seen)) if place.covers(path) => {
                *seen += 1;
                match which {
                    FailsOn::Nth(nth) if seen != nth => Ok(()),
                    _ => Err(input_output_error()),
                }
            }
            _ => Ok(()),
        }
    }

    pub(super) fn after_sync(&self, path: &Path) {
        let act = self.0.lock().then.take_if(|(place, _)| place.covers(path));
        if let Some((_, act)) = act {
            act();
        }
    }

    /// The lock is free while waiting, so that other files are not slowed down.
    fn wait(&self, path: &Path, doing: Slow) {
        let delay = self.0.lock().delay;
        if let Some((place, what, by)) = delay
            && what == doing
            && place.covers(path)
        {
            std::thread::sleep(by);
        }
    }
}

pub(super) fn full() -> io::Error {
    const ENOSPC: i32 = 28;
    io::Error::from_raw_os_error(ENOSPC)
}

fn input_output_error() -> io::Error {
    const EIO: i32 = 5;
    io::Error::from_raw_os_error(EIO)
}
