//! Many at once that have nothing to do with each other: publishing, settling, and asking what is settled.

use prom_engine::{Error, NewTopics, Position, ack_tickets};
use prom_types::{EventId, GroupName, NewEvent, TopicName, TopicPattern};
use serde_json::json;

use crate::support::{World, bus, floor, next, publish_numbers, soon};

fn event(topic: &str, number: u32) -> NewEvent {
    NewEvent::new(TopicName::parse(topic).unwrap(), json!(number))
}

#[tokio::test(start_paused = true)]
async fn events_that_come_one_by_one_go_to_each_subscriber_in_turn() {
    let bus = bus().await;
    bus.publish("numbers", json!(0)).await.unwrap();
    let mut subscribers = Vec::new();
    for _ in 0..3 {
        subscribers.push(bus.subscribe("numbers", "g").start().await.unwrap());
    }
    let mut got = [0; 3];
    for number in 1..=30 {
        bus.publish("numbers", json!(number)).await.unwrap();
        let taken = until_taken(&mut subscribers).await;
        got[taken] += 1;
    }
    assert_eq!(got, [10, 10, 10]);
}

/// The subscriber that gets the next event, acked.
async fn until_taken(subscribers: &mut [prom_engine::Subscription]) -> usize {
    let waiting = subscribers.iter_mut().map(|subscriber| Box::pin(subscriber.next()));
    let (delivery, taken, _) = soon(futures::future::select_all(waiting)).await;
    soon(delivery.unwrap().ack()).await.unwrap();
    taken
}

#[tokio::test]
async fn one_refused_publish_does_not_hold_up_the_others() {
    let bus = bus().await;
    let mut wrong = event("a", 2);
    wrong.partition = Some(7);
    let results = bus.publish_many(vec![event("a", 1), wrong, event("b", 3), event("a", 4)]).await;
    let offsets: Vec<Option<u64>> = results.iter().map(|one| one.as_ref().ok().map(|receipt| receipt.offset)).collect();
    assert_eq!(offsets, [Some(0), None, Some(0), Some(1)]);
    assert!(matches!(results[1], Err(Error::Invalid(_))));
    let ids: Vec<_> = bus.read("a", 0, 0, 10).await.unwrap().events.iter().map(|event| event.id()).collect();
    assert_eq!(ids, [results[0].as_ref().unwrap().id, results[3].as_ref().unwrap().id]);
}

#[tokio::test]
async fn a_topic_is_made_only_for_what_was_admitted() {
    let bus = World::new().bus_with(|options| options.new_topics = NewTopics::Refuse).await;
    let mut work = bus.unit_of_work();
    assert!(matches!(work.publish(&event("a", 1)), Err(Error::UnknownTopic { .. })));
    assert!(work.is_empty());
    assert_eq!(work.commit_each().await.unwrap(), []);
    assert_eq!(bus.topics().await.unwrap(), []);
}

#[tokio::test]
async fn after_the_end_everybody_is_told() {
    let bus = bus().await;
    bus.shutdown().await.unwrap();
    let results = bus.publish_many(vec![event("a", 1), event("a", 2)]).await;
    assert!(results.iter().all(|result| matches!(result, Err(Error::Closed))), "{results:?}");
}

#[tokio::test]
async fn acks_by_ticket_are_answered_one_by_one() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..3).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let (first, second, third) = (next(&mut numbers).await, next(&mut numbers).await, next(&mut numbers).await);
    soon(second.nack("no")).await.unwrap();
    let tickets = vec![third.ticket(), second.ticket(), first.ticket()];
    let results = soon(ack_tickets(tickets)).await;
    assert!(results[0].is_ok() && results[2].is_ok(), "{results:?}");
    assert!(matches!(&results[1], Err(Error::NotLeased { offsets, .. }) if offsets == &[1]), "{results:?}");
    assert_eq!(floor(&bus, "numbers", "g").await, 1);
}

#[tokio::test]
async fn what_is_settled_is_known_by_id_and_by_offset() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..5).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(next(&mut numbers).await);
    }
    soon(held[0].ack()).await.unwrap();
    soon(held[2].ack()).await.unwrap();
    let (topics, group) = ([TopicPattern::parse("*").unwrap()], GroupName::parse("g").unwrap());
    for (at, settled) in [true, false, true, false, false].into_iter().enumerate() {
        assert_eq!(bus.is_settled(&topics, &group, held[at].id()).await.unwrap(), settled, "event {at}");
    }
    let open = bus.unsettled("numbers", 0, &group, &[(0, 3), (2, 2), (4, 9)]).await.unwrap();
    assert_eq!(open, [(1, 1), (3, 3), (4, 9)]);
}

#[tokio::test]
async fn an_id_that_is_in_several_topics_is_settled_once_it_is_in_all_of_them() {
    let bus = bus().await;
    let id = EventId::derived("one");
    for topic in ["a", "b", "c", "d", "e", "f"] {
        bus.publish(topic, json!(topic)).id(id).await.unwrap();
    }
    let (all, group) = ([TopicPattern::parse("*").unwrap()], GroupName::parse("g").unwrap());
    let mut events = bus.subscribe("*", "g").from(Position::Earliest).start().await.unwrap();
    for left in (0..6).rev() {
        let held = next(&mut events).await;
        soon(held.ack()).await.unwrap();
        let of_all = bus.is_settled(&all, &group, id).await.unwrap();
        assert_eq!(of_all, left == 0, "{left} are left");
        let its_own = [TopicPattern::parse(held.topic()).unwrap()];
        assert!(bus.is_settled(&its_own, &group, id).await.unwrap());
    }
    assert!(!bus.is_settled(&all, &group, EventId::derived("another")).await.unwrap());
}
