//! What the hub writes is what a client reads, frame by frame.

use bytes::Bytes;
use prom_protocol::frame::assignment::Assignment;
use prom_protocol::frame::auth::Welcome;
use prom_protocol::frame::err::{MaybeStored, Problem, SchemaMisfit};
use prom_protocol::frame::event::{EventHead, LeaseTerms};
use prom_protocol::frame::gap;
use prom_protocol::frame::ok::{self, BatchReceipt};
use prom_protocol::frame::{SubscriptionName, Which};
use prom_protocol::{Corr, ErrorCode, HubFrame};
use prom_types::{Durability, Gap, Receipt};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use crate::any_event::{expectation, id, text, topic};

fn read(out: Vec<u8>) -> HubFrame {
    serde_json::from_slice::<serde::de::IgnoredAny>(&out).unwrap();
    HubFrame::read(Bytes::from(out)).unwrap()
}

fn corr() -> impl Strategy<Value = Option<Corr>> {
    of(any::<u64>().prop_map(Corr::number))
}

fn durability() -> impl Strategy<Value = Durability> {
    select(vec![Durability::Fsync, Durability::Os, Durability::Majority, Durability::Memory])
}

fn problem() -> impl Strategy<Value = Problem> {
    let stored = of(select(vec![MaybeStored::No, MaybeStored::Unknown]));
    let misfit = of(misfit().prop_map(Box::new));
    let parts = (select(ErrorCode::ALL), text(), of(any::<u64>()), stored, misfit, of(expectation()));
    parts.prop_map(|(code, msg, retry_after_ms, stored, misfit, actual)| Problem {
        code,
        msg,
        retry_after_ms,
        stored,
        misfit,
        actual,
    })
}

fn misfit() -> impl Strategy<Value = SchemaMisfit> {
    let parts = (any::<u32>(), text(), text(), text());
    parts.prop_map(|(version, pointer, rule, value)| SchemaMisfit { version, pointer, rule, value })
}

fn placed() -> impl Strategy<Value = BatchReceipt> {
    let parts = (any::<u32>(), any::<u64>(), any::<i64>(), of(id()), any::<bool>());
    parts.prop_map(|(partition, offset, stored_ts, id, duplicate)| BatchReceipt {
        partition,
        offset,
        stored_ts,
        id,
        duplicate,
    })
}

fn name() -> impl Strategy<Value = SubscriptionName> {
    (text(), of(text())).prop_map(|(topic, group)| SubscriptionName { topic, group })
}

fn leased() -> impl Strategy<Value = LeaseTerms> {
    (1u32..5, any::<u64>()).prop_map(|(attempt, ack_deadline_ms)| LeaseTerms {
        attempt,
        max_attempts: 5,
        ack_deadline_ms,
    })
}

/// The OK in what was written, with its correlation checked.
fn done(out: Vec<u8>, corr: &Option<Corr>) -> prom_protocol::frame::Done {
    match read(out) {
        HubFrame::Ok(done) => {
            assert_eq!(done.corr, *corr);
            done
        }
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn ok_with_a_receipt(
        corr in corr(), id in id(), partition: u32, offset: u64, stored_ts: i64, durability in durability(),
    ) {
        let receipt = Receipt { id, partition, offset, stored_ts, durability, duplicate: offset % 2 == 0 };
        let mut out = Vec::new();
        ok::write_receipt(&mut out, corr.as_ref(), &receipt);
        prop_assert_eq!(done(out, &corr).receipt().unwrap(), receipt);
    }

    #[test]
    fn ok_with_a_welcome(
        corr in corr(), hub in text(), features in vec(text(), 0..3), frame_bytes: usize,
        connection in text(), subject in of(text()), expires_at_ms in of(any::<i64>()),
    ) {
        let welcome = Welcome { hub, features, frame_bytes, connection, subject, expires_at_ms };
        let mut out = Vec::new();
        ok::write_welcome(&mut out, corr.as_ref(), &welcome);
        prop_assert_eq!(done(out, &corr).welcome().unwrap(), welcome);
    }

    #[test]
    fn ok_with_the_results_of_a_batch(
        corr in corr(), durability in durability(), results in vec(prop_oneof![placed().prop_map(Ok), problem().prop_map(Err)], 0..5),
    ) {
        let mut out = Vec::new();
        ok::write_results(&mut out, corr.as_ref(), durability, results.iter().map(|result| result.as_ref().copied()));
        let answer = done(out, &corr).batch().unwrap();
        prop_assert_eq!((answer.durability, answer.results), (durability, results));
    }

    #[test]
    fn ok_with_what_is_unknown(corr in corr(), ranges in vec(any::<(u64, u64)>(), 0..4), ids in vec(id(), 0..4)) {
        let mut out = Vec::new();
        ok::write_unknown(&mut out, corr.as_ref(), &Which::Offsets { partition: 0, ranges: ranges.clone() });
        prop_assert_eq!(done(out, &corr).unknown_offsets().unwrap(), ranges);
        let mut out = Vec::new();
        ok::write_unknown(&mut out, corr.as_ref(), &Which::Ids(ids.clone().into()));
        let frame: serde_json::Value = serde_json::from_slice(&out).unwrap();
        prop_assert_eq!(&frame["unknown"], &serde_json::json!(ids));
    }

    #[test]
    fn err(corr in corr(), problem in problem(), ended in of(name())) {
        let mut out = Vec::new();
        match &ended {
            None => problem.write(&mut out, corr.as_ref()),
            Some(name) => problem.write_for(&mut out, name),
        }
        let expected_corr = if ended.is_none() { corr } else { None };
        match read(out) {
            HubFrame::Err { corr, problem: told, subscription } => {
                prop_assert_eq!((corr, told, subscription), (expected_corr, problem, ended));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn event(name in name(), leased in of(leased())) {
        let mut out = Vec::new();
        EventHead::new(&name).write(&mut out, leased, |out| out.extend_from_slice(b"{\"offset\": 7}"));
        match read(out) {
            HubFrame::Events(delivered) => {
                prop_assert_eq!(delivered.name, name);
                prop_assert_eq!(delivered.events, [(Bytes::from_static(b"{\"offset\": 7}"), leased)]);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn events(name in name(), leased in vec(leased(), 0..6), in_group: bool) {
        let mut out = Vec::new();
        let head = EventHead::new(&name);
        let mut many = head.begin_many(&mut out);
        for (at, leased) in leased.iter().enumerate() {
            many.event(in_group.then_some(*leased), |out| out.extend_from_slice(at.to_string().as_bytes()));
        }
        many.end();
        let soonest = leased.iter().map(|leased| leased.ack_deadline_ms).min().unwrap_or_default();
        let expected: Vec<_> = leased.iter().enumerate().map(|(at, leased)| {
            let leased = LeaseTerms { ack_deadline_ms: soonest, ..*leased };
            (Bytes::from(at.to_string()), in_group.then_some(leased))
        }).collect();
        match read(out) {
            HubFrame::Events(delivered) => prop_assert_eq!((delivered.name, delivered.events), (name, expected)),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn gaps(name in name(), topic in topic(), partition: u32, from: u64, to: u64, reason in text()) {
        let gap = Gap { topic, partition, from, to, reason: reason.into() };
        let mut out = Vec::new();
        gap::write(&gap, &mut out, &name);
        match read(out) {
            HubFrame::Gap(of, told) => prop_assert_eq!((of, told), (name, gap)),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn assigned_and_revoked(name in name(), event_topic in topic(), partitions in vec(any::<u32>(), 0..5)) {
        let assignment = Assignment { event_topic, partitions };
        let (mut assigned, mut revoked) = (Vec::new(), Vec::new());
        assignment.write_assigned(&mut assigned, &name);
        assignment.write_revoked(&mut revoked, &name);
        match (read(assigned), read(revoked)) {
            (HubFrame::Assigned(of, told), HubFrame::Revoked(also_of, also_told)) => {
                prop_assert_eq!((of, told), (name.clone(), assignment.clone()));
                prop_assert_eq!((also_of, also_told), (name, assignment));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}

#[test]
fn frames_of_a_newer_hub_are_told_apart_by_their_name() {
    for op in ["ASSIGNED2", "PROMOTED", "EVENTUALLY", "EVENTS2", "ok"] {
        let text = format!("{{\"op\":\"{op}\",\"more\":[1]}}");
        assert!(matches!(HubFrame::read(text.into()).unwrap(), HubFrame::Other(name) if name == op));
    }
}

#[test]
fn members_may_come_in_any_order_and_spacing() {
    let text = r#" { "event" : {"offset":1} , "group":"g", "topic":"a" , "op" : "EVENT" ,
        "ctx": {"ack_deadline_ms":9,"attempt":2,"max_attempts":5,"new":0} } "#;
    let HubFrame::Events(delivered) = HubFrame::read(text.into()).unwrap() else { panic!() };
    assert_eq!(delivered.events[0].1.unwrap(), LeaseTerms { attempt: 2, max_attempts: 5, ack_deadline_ms: 9 });
}
