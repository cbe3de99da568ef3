//! The terms of appends: judged where offsets are given, against the log with everything that was decided before.

use prom_store::{Commit, CommitError, LogName, LogStanding, NewestOfKey, TermsJudge};
use prom_types::Offset;

use super::build::{Builder, refused};
use crate::compact;
use crate::shared::StoreShared;

/// The logs before a commit, with the frame under way.
struct FrameStanding<'a> {
    builder: &'a mut Builder,
    shared: &'a StoreShared,
    commit: &'a Commit,
}

impl Builder {
    /// Whether a commit can go into the frame under way. What a frame holds of one log is without holes, so a commit that
    /// leaves one begins the next frame.
    pub(super) fn has_room_for(&self, commit: &Commit) -> bool {
        let takes = |(log, place): &(LogName, Offset)| {
            self.by_name.get(log).is_none_or(|index| self.slot_of(*index).takes_at(*place))
        };
        commit.places.iter().all(takes)
    }

    /// Which appends are repetitions must be known.
    pub(super) fn check_terms(&mut self, shared: &StoreShared, commit: &Commit) -> Result<(), CommitError> {
        let known = std::mem::take(&mut self.known);
        let is_known = |index: usize| matches!(known.get(index), Some(Some(_)));
        let judged = TermsJudge::judge(commit, is_known, &mut FrameStanding { builder: self, shared, commit });
        self.known = known;
        judged
    }

    /// The newest event of a key in one slot.
    fn newest(&mut self, shared: &StoreShared, index: usize, key: &str) -> Result<Option<NewestOfKey>, CommitError> {
        let slot = self.slot_at(index);
        if let Some(newest) = slot.newest_in_frame(key) {
            return Ok(Some(newest));
        }
        let (is_known, from) = {
            let state = slot.log.state.lock();
            // Options of the frame under way are not in the state yet. A log without events has no other keys.
            let is_empty = state.bounds.start == state.bounds.next || slot.begun == state.bounds.next;
            let is_known = if state.options.keeps_latest() { state.latest_known } else { is_empty };
            (is_known, state.latest_from.max(slot.begun))
        };
        if !is_known {
            return Err(CommitError::VersionsUnknown { log: slot.name().clone() });
        }
        let newest = compact::newest(shared, &slot.log, slot.id, key).map_err(refused)?;
        Ok(newest.filter(|newest| newest.offset >= from))
    }
}

impl LogStanding for FrameStanding<'_> {
    fn next(&mut self, log: &LogName) -> Offset {
        let index = self.builder.slot(self.shared, log);
        self.builder.slot_at(index).next
    }

    fn newest(&mut self, log: &LogName, key: &str) -> Result<Option<NewestOfKey>, CommitError> {
        let index = self.builder.slot(self.shared, log);
        let options = self.commit.options_of(log).unwrap_or(self.builder.slot_at(index).options);
        if !options.keeps_latest() {
            return Err(CommitError::NoVersions { log: log.clone() });
        }
        self.builder.newest(self.shared, index, key)
    }
}
