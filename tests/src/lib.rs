//! What the integration tests share with the child process that they kill.

use promethean::Sizes;

/// Files so small that rolls, seals and checkpoints happen many times a second.
pub fn small_files() -> Sizes {
    Sizes {
        first_journal_file: 64 << 10,
        journal_file: 256 << 10,
        journal_total: 4 << 20,
        segment: 256 << 10,
        segment_events: 2_000,
        index_interval: 4 << 10,
        fill_from: 16 << 10,
        fill_limit: 2 << 20,
        cache: 64 << 10,
        ids_in_memory: 5_000,
        sync_whole_from: 3,
        open_files: 16,
    }
}
