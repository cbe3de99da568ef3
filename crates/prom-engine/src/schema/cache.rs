//! Compiled schemas have a bound over all topics: what was not used for longest is put away first.
//!
//! Topics stand in a row. Where room is needed the first one is looked at: if it was used since its last turn it goes to the end,
//! and otherwise its schemas are put away. They are compiled again when they are needed.

use std::collections::VecDeque;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use prom_types::TopicName;

/// Who takes how much.
#[derive(Debug, Default)]
pub(super) struct SchemaCache {
    bytes: usize,
    /// Those in the row.
    taken: HashMap<TopicName, usize, RandomState>,
    row: VecDeque<TopicName>,
}

impl SchemaCache {
    /// The schemas of a topic were compiled and take so much. `put_away` gives up those of another one, unless they were used
    /// since it was last asked.
    pub fn charge(
        &mut self,
        topic: &TopicName,
        bytes: usize,
        most: usize,
        mut put_away: impl FnMut(&TopicName) -> bool,
    ) {
        match self.taken.insert(topic.clone(), bytes) {
            Some(before) => self.bytes -= before,
            None => self.row.push_back(topic.clone()),
        }
        self.bytes += bytes;
        // Each is asked twice at the most: after the first time it counts as unused.
        for _ in 0..2 * self.row.len() {
            if self.bytes <= most {
                return;
            }
            let Some(first) = self.row.pop_front() else {
                return;
            };
            if first != *topic && put_away(&first) {
                self.bytes -= self.taken.remove(&first).unwrap_or(0);
            } else {
                self.row.push_back(first);
            }
        }
    }

    /// What all of them take.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_is_used_stays_and_the_whole_is_bounded() {
        let name = |number: usize| TopicName::parse(&format!("t{number}")).unwrap();
        let mut cache = SchemaCache::default();
        let mut used = BTreeSet::from([name(0)]);
        let mut gone = Vec::new();
        for number in 0..100 {
            cache.charge(&name(number), 10, 55, |topic| {
                // In use all the time.
                let is_unused = *topic != name(0) && !used.remove(topic);
                if is_unused {
                    gone.push(topic.clone());
                }
                is_unused
            });
            used.insert(name(number));
            assert!(cache.bytes() <= 55);
        }
        assert_eq!(gone.len(), 95);
        assert!(!gone.contains(&name(0)) && !gone.contains(&name(99)));
        cache.charge(&name(99), 30, 1000, |_| false);
        assert_eq!(cache.bytes(), 70);
    }

    #[test]
    fn one_that_takes_more_than_all_may_stays_alone() {
        let name = |number: usize| TopicName::parse(&format!("t{number}")).unwrap();
        let mut cache = SchemaCache::default();
        for number in 0..3 {
            cache.charge(&name(number), 100, 50, |_| true);
            assert_eq!(cache.bytes(), 100);
        }
    }
}
