//! How long it took after a fault, and what the recorder writes.

use std::time::Duration;

use super::story::{END_MS, Story, id};
use crate::history::clients::{Fault, HistoryLine, Observation, Recorder, flowed_again};
use crate::history::read_file;

#[test]
fn events_flow_again_when_every_partition_delivers_what_was_published_after_the_fault() {
    let killed = |story: Story| story.fault(Fault::HubKilled, "hub-1", 3000);
    // What was published before does not count, however late it arrives.
    let story = killed(Story::of_two().stored(2, 2990).stored(3, 3500));
    let story = story.handled(3, 2, "alpha", 4000).handled(4, 3, "alpha", 5000);
    let found = flowed_again(&story.lines()).unwrap();
    assert_eq!((found[0].fault, found[0].at), (Fault::HubKilled, Duration::from_secs(3)));
    assert_eq!(found[0].after["g"], Some(Duration::from_secs(2)));
    // Another partition that stays dry.
    let (topic, key) = ("t".to_owned(), None);
    let dry = Observation::Logged { topic, partition: 1, offset: 0, id: id(9), key, stored_ts: 1 };
    let found = flowed_again(&story.and(END_MS + 9, |_| dry).lines()).unwrap();
    assert_eq!(found[0].after["g"], None);
}

#[test]
fn observations_from_many_threads_are_in_the_file_by_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.ndjson");
    let recorder = &Recorder::create(&path).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let note = move || {
                for number in 0..100 {
                    let (client, why) = (format!("{thread}"), format!("{number}"));
                    recorder.note(Observation::Disconnected { client, why });
                }
            };
            scope.spawn(note);
        }
    });
    recorder.finish().unwrap();
    let lines: Vec<HistoryLine> = read_file(&path).unwrap();
    assert_eq!(lines.len(), 400);
    assert!(lines.is_sorted_by_key(|line| line.at_us));
}
