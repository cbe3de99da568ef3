//! The judge passes correct stores and names what is broken.

use std::collections::BTreeMap;

use prom_store::{Bounds, CursorName, CursorState, Failures, LogName};
use prom_types::{EventId, GroupName, TopicName};

use super::{Fact, FoundEvent, History, HistoryError, StoreContents, Violation, check};

fn id(number: u64) -> EventId {
    EventId::derived(&number.to_string())
}

fn log() -> LogName {
    LogName::new(TopicName::parse("orders").unwrap(), 0)
}

fn cursor() -> CursorName {
    CursorName::new(log(), GroupName::parse("billing").unwrap())
}

/// Three events of one publisher, the first acked, the second failed twice.
fn history() -> History {
    let sent_and_stored = |number| [sent(number), Fact::Stored { id: id(number), log: log(), offset: number }];
    let mut facts: Vec<Fact> = (0..3).flat_map(sent_and_stored).collect();
    facts.extend([settling(0), Fact::Acked { cursor: cursor(), offset: 0 }]);
    facts.extend([1, 2].map(|attempts| Fact::Failed { cursor: cursor(), offset: 1, attempts }));
    History(facts)
}

fn sent(number: u64) -> Fact {
    Fact::Sent { publisher: 1, sequence: number, id: id(number) }
}

fn settling(offset: u64) -> Fact {
    Fact::Settling { cursor: cursor(), offset }
}

fn with(fact: Fact) -> History {
    History([history().0, vec![fact]].concat())
}

fn found() -> StoreContents {
    let event = |offset| FoundEvent { offset, id: id(offset) };
    let mut state = CursorState::at(1);
    let failures = Failures { attempts: 2, ..Failures::default() };
    state.failures.insert(1, failures);
    StoreContents {
        logs: BTreeMap::from([(log(), (0..3).map(event).collect())]),
        bounds: BTreeMap::from([(log(), Bounds { start: 0, next: 3 })]),
        cursors: BTreeMap::from([(cursor(), state)]),
        ..StoreContents::default()
    }
}

fn judge(history: &History, found: &StoreContents) -> Vec<Violation> {
    check(history, found).err().unwrap_or_default()
}

#[test]
fn a_kept_promise_passes_and_is_counted() {
    let summary = check(&history(), &found()).unwrap();
    assert_eq!((summary.stored, summary.acked, summary.failed), (3, 1, 2));
    assert_eq!(summary.events_found, 3);
}

#[test]
fn facts_survive_their_text_form_and_a_cut_last_line_does_not_count() {
    let text: String = history().0.iter().map(|fact| fact.to_line().unwrap()).collect();
    assert_eq!(History::parse(&text).unwrap(), history());
    let line = sent(3).to_line().unwrap();
    let cut = History::parse(&format!("{text}{}", line.trim_end())).unwrap();
    assert_eq!(cut, history());
    assert_eq!(History::parse("{\"acked\":").unwrap(), History::default());
    let error = History::parse("{\"sent\":{\"publisher\":1}}\n").unwrap_err();
    assert!(matches!(error, HistoryError::Line { number: 1, .. }));
}

#[test]
fn an_acknowledged_event_that_is_gone_is_named() {
    let mut found = found();
    found.logs.get_mut(&log()).unwrap().pop();
    found.bounds.insert(log(), Bounds { start: 0, next: 2 });
    let lost = Violation::Lost { id: id(2), log: log(), offset: 2 };
    assert_eq!(judge(&history(), &found), [lost]);
}

#[test]
fn an_event_that_was_sent_but_never_acknowledged_may_be_there_or_not() {
    let sent = with(sent(3));
    assert_eq!(judge(&sent, &found()), []);
    let mut with_it = found();
    let event = FoundEvent { offset: 3, id: id(3) };
    with_it.logs.get_mut(&log()).unwrap().push(event);
    with_it.bounds.insert(log(), Bounds { start: 0, next: 4 });
    assert_eq!(judge(&sent, &with_it), []);
    let invented = judge(&history(), &with_it);
    assert!(matches!(invented[..], [Violation::Invented { offset: 3, .. }]));
}

#[test]
fn an_event_that_is_there_twice_is_named() {
    let mut found = found();
    let event = FoundEvent { offset: 3, id: id(0) };
    found.logs.get_mut(&log()).unwrap().push(event);
    found.bounds.insert(log(), Bounds { start: 0, next: 4 });
    let broken = judge(&history(), &found);
    let doubled = |it: &Violation| matches!(it, Violation::Doubled { first: 0, second: 3, .. });
    assert!(broken.iter().any(doubled), "{broken:?}");
}

#[test]
fn an_event_at_another_offset_than_its_receipt_is_named() {
    let mut found = found();
    let events = found.logs.get_mut(&log()).unwrap();
    (events[0].id, events[1].id) = (events[1].id, events[0].id);
    let broken = judge(&history(), &found);
    let reordered = |it: &Violation| matches!(it, Violation::PublisherReordered { publisher: 1, .. });
    let moved = broken.iter().filter(|it| matches!(it, Violation::Moved { .. })).count();
    assert_eq!((moved, broken.iter().filter(|it| reordered(it)).count()), (2, 1));
}

#[test]
fn holes_and_reads_out_of_order_are_named() {
    let mut holed = found();
    holed.logs.get_mut(&log()).unwrap().remove(1);
    let broken = judge(&history(), &holed);
    assert!(broken.contains(&Violation::Hole { log: log(), missing: 1 }));

    let mut turned = found();
    turned.logs.get_mut(&log()).unwrap().reverse();
    let broken = judge(&history(), &turned);
    let out_of_order = |it: &Violation| matches!(it, Violation::OutOfOrder { .. });
    assert!(broken.iter().any(out_of_order), "{broken:?}");
}

#[test]
fn a_floor_ahead_of_an_event_that_was_never_acked_is_named() {
    let mut found = found();
    found.cursors.insert(cursor(), CursorState::at(3));
    let unasked = |offset| Violation::SettledUnasked { cursor: cursor(), offset };
    assert_eq!(judge(&history(), &found), [unasked(1), unasked(2)]);

    let begun = with(settling(1));
    assert_eq!(judge(&begun, &found), [unasked(2)], "an ack in progress may be there");

    found.letters.insert((cursor().group, id(2)));
    assert_eq!(judge(&begun, &found), [], "a dead letter settles");
}

#[test]
fn a_cursor_beyond_the_end_of_its_log_is_named() {
    let mut found = found();
    found.cursors.get_mut(&cursor()).unwrap().above.insert(7..9);
    let beyond = Violation::BeyondTheEnd { cursor: cursor(), offset: 8, next: 3 };
    assert_eq!(judge(&history(), &found), [beyond]);
}

#[test]
fn a_forgotten_ack_and_forgotten_attempts_are_named() {
    let mut without = found();
    without.cursors.clear();
    let forgotten = judge(&history(), &without);
    let (cursor, offset) = (cursor(), 0);
    assert!(forgotten.contains(&Violation::AckForgotten { cursor: cursor.clone(), offset }));
    let mut fewer = found();
    let state = fewer.cursors.get_mut(&cursor).unwrap();
    state.failures.get_mut(&1).unwrap().attempts = 1;
    let expected = Violation::AttemptsForgotten { cursor, offset: 1, recorded: 2, found: 1 };
    assert_eq!(judge(&history(), &fewer), [expected]);
}
