//! What a client writes is what the hub reads, frame by frame.

use std::borrow::Cow;

use bytes::Bytes;
use prom_protocol::frame::ack::Ack;
use prom_protocol::frame::auth::Auth;
use prom_protocol::frame::modack::Modack;
use prom_protocol::frame::nack::Nack;
use prom_protocol::frame::subscribe::{Subscribe, SubscribeOpts};
use prom_protocol::frame::{SubscriptionName, Which, pause, publish, unsubscribe};
use prom_protocol::position::{PositionFields, StartFrom};
use prom_protocol::{ClientFrame, Corr, Request};
use prom_types::{Backoff, Mode, NewEvent, Order};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use crate::any_event::{event, id, text};

fn corr() -> impl Strategy<Value = Option<Corr>> {
    of(any::<u64>().prop_map(Corr::number))
}

fn which() -> impl Strategy<Value = Which> {
    // In order and apart.
    let ranges = (any::<u32>(), vec((1u64..1000, 0u64..1000), 0..4)).prop_map(|(begin, steps)| {
        let mut next = u64::from(begin);
        let range = |(gap, length): (u64, u64)| {
            let from = next + gap;
            next = from + length;
            (from, next)
        };
        steps.into_iter().map(range).collect()
    });
    prop_oneof![
        vec(id(), 0..4).prop_map(|ids| Which::Ids(ids.into())),
        (any::<u32>(), ranges).prop_map(|(partition, ranges)| Which::Offsets { partition, ranges }),
    ]
}

fn name() -> impl Strategy<Value = SubscriptionName> {
    (text(), of(text())).prop_map(|(topic, group)| SubscriptionName { topic, group })
}

fn opts() -> impl Strategy<Value = SubscribeOpts> {
    let from =
        of(select(vec![StartFrom::Latest, StartFrom::Earliest, StartFrom::Ts, StartFrom::AfterId, StartFrom::Offset]));
    let place = (from, of(any::<i64>()), of(id()), of(any::<u64>()));
    let group = (
        of(select(vec![Mode::Shared, Mode::Partitioned])),
        of(select(vec![Order::None, Order::Key])),
        of(text()),
        of(any::<u32>()),
        of(any::<(u64, u64)>().prop_map(|(first_ms, max_ms)| Backoff { first_ms, max_ms })),
        of(any::<u32>()),
        of(any::<u64>()),
    );
    let own =
        (vec(text(), 0..3), of(any::<usize>()), of(any::<usize>()), of(any::<u64>()), of(any::<bool>()), of(text()));
    let meta = of(text().prop_map(serde_json::Value::from));
    let member = (meta, of(any::<u32>()), vec(any::<u32>(), 0..3), of(any::<u64>()), of(any::<bool>()));
    let shown = (of(any::<bool>()), of(any::<bool>()), of(1..=u32::MAX));
    (place, group, own, member, shown).prop_map(|(place, group, own, member, shown)| {
        let (meta, weight, pin, ttl_ms, assignments) = member;
        let (park, masked, max_per_second) = shown;
        let (from, ts, after_id, offset) = place;
        let (mode, order, filter, max_attempts, backoff, partitions, expire_after) = group;
        let (topics, batch_size, max_in_flight, ack_timeout_ms, normalize, member_id) = own;
        SubscribeOpts {
            position: PositionFields { from, ts, after_id, offset },
            mode,
            order,
            filter,
            max_attempts,
            backoff,
            partitions,
            expire_after,
            topics,
            batch_size,
            max_in_flight,
            ack_timeout_ms,
            normalize,
            member_id,
            meta,
            weight,
            pin,
            ttl_ms,
            assignments,
            park,
            masked,
            max_per_second,
        }
    })
}

/// Reads what `write` wrote, checks its correlation, and hands its frame to `check`.
fn read_back(
    corr: &Option<Corr>,
    write: impl FnOnce(&mut Vec<u8>, Option<&Corr>),
    check: impl FnOnce(ClientFrame<'_>),
) {
    let mut out = Vec::new();
    write(&mut out, corr.as_ref());
    serde_json::from_slice::<serde::de::IgnoredAny>(&out).unwrap();
    let text = Bytes::from(out);
    let request = Request::read(&text).unwrap();
    assert_eq!(request.corr, *corr);
    check(request.frame);
}

fn check_event(read: publish::Publish<'_>, expected: &NewEvent) {
    let topic = expected.topic.clone();
    assert_eq!(*read.topic, *topic);
    assert_eq!(format!("{:?}", read.into_event(topic)), format!("{expected:?}"));
}

proptest! {
    #[test]
    fn auth(corr in corr(), token in of(text()), features in vec(text(), 0..3)) {
        let auth = Auth { token: token.map(Cow::Owned), features };
        read_back(&corr, |out, corr| auth.write(out, corr), |frame| {
            assert!(matches!(frame, ClientFrame::Auth(read) if read == auth));
        });
    }

    #[test]
    fn publish_of_one(corr in corr(), event in event()) {
        read_back(&corr, |out, corr| publish::write(out, corr, &event), |frame| match frame {
            ClientFrame::Publish(read) => check_event(read, &event),
            other => panic!("{other:?}"),
        });
    }

    #[test]
    fn publish_of_many(corr in corr(), events in vec(event(), 0..4), atomic: bool) {
        let write = |out: &mut Vec<u8>, corr: Option<&Corr>| if atomic { publish::write_atomic(out, corr, events.iter()) } else { publish::write_batch(out, corr, events.iter()) };
        read_back(&corr, write, |frame| match frame {
            ClientFrame::PublishBatch(read) => {
                assert_eq!((read.events.len(), read.atomic), (events.len(), atomic));
                read.events.into_iter().zip(&events).for_each(|(read, event)| check_event(read.unwrap(), event));
            }
            other => panic!("{other:?}"),
        });
    }

    #[test]
    fn subscribe(corr in corr(), name in name(), opts in opts()) {
        let subscribe = Subscribe { name, opts };
        read_back(&corr, |out, corr| subscribe.write(out, corr), |frame| match frame {
            ClientFrame::Subscribe(read) => assert_eq!(*read, subscribe),
            other => panic!("{other:?}"),
        });
    }

    #[test]
    fn unsubscribe_pause_and_resume(corr in corr(), name in name(), max_in_flight in of(any::<usize>())) {
        read_back(&corr, |out, corr| unsubscribe::write(out, corr, &name), |frame| {
            assert!(matches!(frame, ClientFrame::Unsubscribe(read) if read == name));
        });
        read_back(&corr, |out, corr| pause::write_pause(out, corr, &name), |frame| {
            assert!(matches!(frame, ClientFrame::Pause(read) if read == name));
        });
        read_back(&corr, |out, corr| pause::write_resume(out, corr, &name, max_in_flight), |frame| {
            assert!(matches!(frame, ClientFrame::Resume(read) if read.name == name && read.max_in_flight == max_in_flight));
        });
    }

    #[test]
    fn ack_nack_and_modack(
        corr in corr(), topic in text(), group in text(), which in which(), reason in text(), ms in of(any::<u64>()),
    ) {
        let (topic, group, reason) = (Cow::Owned(topic), Cow::Owned(group), Cow::Owned(reason));
        let ack = Ack { topic, group, which };
        read_back(&corr, |out, corr| ack.write(out, corr), |frame| {
            assert!(matches!(frame, ClientFrame::Ack(read) if read == ack));
        });
        let (topic, group, which) = (ack.topic, ack.group, ack.which);
        let nack = Nack { topic, group, which, reason, delay_ms: ms, unhandled: ms.is_none() };
        read_back(&corr, |out, corr| nack.write(out, corr), |frame| {
            assert!(matches!(frame, ClientFrame::Nack(read) if read == nack));
        });
        let modack = Modack { topic: nack.topic, group: nack.group, which: nack.which, extend_ms: ms.unwrap_or(1) };
        read_back(&corr, |out, corr| modack.write(out, corr), |frame| {
            assert!(matches!(frame, ClientFrame::Modack(read) if read == modack));
        });
    }
}
