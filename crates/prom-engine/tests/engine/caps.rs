//! How many topics and groups may be made, in all and by one subject.

use prom_engine::{Bus, BusOptions, Cap, Caps, Error, HubOptions, TopicSettings};
use prom_types::{NewEvent, TopicName};
use serde_json::json;

use crate::support::{World, publish_numbers};

const TWO: Caps = Caps { topics: Some(4), topics_per_subject: Some(2), groups: Some(3), groups_per_subject: Some(2) };

async fn capped(world: &World) -> Bus {
    world.bus_with(|options| options.caps = TWO).await
}

fn event(topic: &str) -> NewEvent {
    NewEvent::new(TopicName::parse(topic).unwrap(), json!(1))
}

fn cap_of<T: std::fmt::Debug>(refused: Result<T, Error>) -> Cap {
    match refused.unwrap_err() {
        Error::Capped { cap, .. } => cap,
        other => panic!("{other}"),
    }
}

async fn topics(bus: &Bus) -> Vec<String> {
    bus.topics().await.unwrap().iter().map(|topic| topic.settings.name.to_string()).collect()
}

#[tokio::test]
async fn a_subject_makes_as_many_topics_as_it_may_and_still_publishes_to_all() {
    let world = World::new();
    let bus = capped(&world).await;
    let alpha = bus.acting_for(Some("alpha"));
    alpha.publish("a", json!(1)).await.unwrap();
    alpha.create_topic(TopicSettings::new("b").unwrap()).await.unwrap();
    assert_eq!(cap_of(alpha.publish("c", json!(1)).await), Cap::TopicsPerSubject);
    assert_eq!(cap_of(alpha.publish_event(event("c")).await), Cap::TopicsPerSubject);
    assert_eq!(cap_of(alpha.create_topic(TopicSettings::new("c").unwrap()).await), Cap::TopicsPerSubject);
    let results = alpha.publish_many(vec![event("a"), event("c"), event("b")]).await;
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    alpha.create_topic(TopicSettings::new("b").unwrap().max_attempts(3)).await.unwrap();
    assert_eq!(topics(&bus).await, ["a", "b", "system.audit"]);
    bus.acting_for(Some("beta")).publish("c", json!(1)).await.unwrap();
    alpha.publish("c", json!(2)).await.unwrap();
}

#[tokio::test]
async fn an_atomic_batch_that_would_make_too_many_topics_makes_none() {
    let world = World::new();
    let bus = capped(&world).await;
    let alpha = bus.acting_for(Some("alpha"));
    let three = vec![event("a"), event("b"), event("a"), event("c")];
    assert_eq!(cap_of(alpha.publish_batch(three).await), Cap::TopicsPerSubject);
    assert_eq!(topics(&bus).await, [""; 0]);
    alpha.publish_batch(vec![event("x"), event("y"), event("x")]).await.unwrap();
    assert_eq!(topics(&bus).await, ["x", "y"]);
}

#[tokio::test]
async fn all_topics_together_are_capped_too_but_not_those_of_the_hub_itself() {
    let world = World::new();
    let bus = capped(&world).await;
    for topic in ["a", "b", "c", "d"] {
        publish_numbers(&bus, topic, 0..1).await;
    }
    assert_eq!(cap_of(bus.publish("e", json!(1)).await), Cap::Topics);
    // Raising partitions is written to the audit trail, whose topic is not there yet.
    bus.create_topic(TopicSettings::new("a").unwrap().partitions(2)).await.unwrap();
    assert_eq!(topics(&bus).await, ["a", "b", "c", "d", "system.audit"]);
}

#[tokio::test]
async fn who_made_a_topic_is_known_after_a_restart_and_through_changes() {
    let world = World::new();
    let alpha = capped(&world).await.acting_for(Some("alpha"));
    alpha.publish("a", json!(1)).await.unwrap();
    alpha.acting_for(Some("beta")).create_topic(TopicSettings::new("a").unwrap().max_attempts(3)).await.unwrap();
    alpha.publish("b", json!(1)).await.unwrap();
    let alpha = capped(&world).await.acting_for(Some("alpha"));
    assert_eq!(cap_of(alpha.publish("c", json!(1)).await), Cap::TopicsPerSubject);
}

#[tokio::test]
async fn a_topic_that_another_hub_made_is_found_before_a_cap_refuses_it() {
    let world = World::new();
    let bus = async |url: &str| {
        let hub = Some(HubOptions { url: url.to_owned(), ttl: std::time::Duration::from_secs(10) });
        let change = |options: &mut BusOptions| {
            options.caps = Caps { topics_per_subject: Some(0), ..Caps::default() };
            options.hub = hub;
        };
        world.bus_with(change).await
    };
    let (here, there) = (bus("http://here").await, bus("http://there").await);
    there.create_topic(TopicSettings::new("a").unwrap()).await.unwrap();
    here.acting_for(Some("alpha")).publish("a", json!(1)).await.unwrap();
}

#[tokio::test]
async fn groups_are_capped_by_subject_and_in_all_and_a_deleted_one_makes_room() {
    let world = World::new();
    let bus = capped(&world).await;
    publish_numbers(&bus, "a", 0..1).await;
    let join = async |subject: Option<&str>, group: &str| {
        let bus = bus.acting_for(subject);
        bus.subscribe("a", group).start().await.map(drop)
    };
    join(Some("alpha"), "g1").await.unwrap();
    join(Some("alpha"), "g2").await.unwrap();
    assert_eq!(cap_of(join(Some("alpha"), "g3").await), Cap::GroupsPerSubject);
    join(Some("alpha"), "g1").await.unwrap();
    join(Some("beta"), "g3").await.unwrap();
    assert_eq!(cap_of(join(Some("beta"), "g4").await), Cap::Groups);
    assert_eq!(cap_of(join(None, "g4").await), Cap::Groups);
    bus.delete_group("g1").await.unwrap();
    join(Some("alpha"), "g4").await.unwrap();
    let bus = capped(&world).await;
    let refused = bus.acting_for(Some("alpha")).subscribe("a", "g5").start().await.map(drop).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "there may be 3 groups in all, and there are; use one that exists, or delete one, or raise `groups` under [limits]"
    );
}
