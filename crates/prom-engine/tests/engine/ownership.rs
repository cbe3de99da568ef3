//! Several hubs on one store: one of them dispatches a group, and another takes over when it is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prom_engine::{Bus, Error, HubOptions, Owner, Position};
use prom_store::Clock;
use prom_types::GroupName;

use crate::faults::Stubborn;
use crate::support::{TokioClock, World, next, publish_numbers, soon, stays_silent, take_acked, until};

const TTL: Duration = Duration::from_secs(10);

async fn hub(world: &World, name: &str) -> Bus {
    world.bus_with(|options| options.hub = Some(HubOptions { url: format!("http://{name}"), ttl: TTL })).await
}

/// Two hubs, and a number of orders that both know of.
async fn two_hubs(world: &World, orders: std::ops::Range<u64>) -> (Bus, Bus) {
    let red = hub(world, "red").await;
    publish_numbers(&red, "orders", orders).await;
    (red, hub(world, "blue").await)
}

fn billing() -> GroupName {
    GroupName::parse("billing").unwrap()
}

fn elsewhere(result: Result<prom_engine::Subscription, Error>) -> String {
    match result.err().expect("another hub has the group") {
        Error::ServedElsewhere { url, .. } => url,
        other => panic!("{other}"),
    }
}

/// The id under which the owner of the group is known.
async fn id_of_owner(store: &Stubborn) -> String {
    use prom_store::Documents as _;
    let document = store.document("owners", "billing").await.unwrap().expect("it has an owner");
    let owner: serde_json::Value = serde_json::from_slice(&document.value).unwrap();
    owner["hub"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_group_is_dispatched_by_the_hub_that_was_asked_first_and_others_say_where_it_is() {
    let (_, world) = Stubborn::new();
    let (red, blue) = two_hubs(&world, 0..3).await;
    assert_eq!(blue.owner_of(&billing()).await.unwrap(), Owner::Unowned);
    let mut orders = red.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
    assert_eq!(elsewhere(blue.subscribe("orders", "billing").start().await), "http://red");
    assert_eq!(red.owner_of(&billing()).await.unwrap(), Owner::Here);
    assert_eq!(blue.owner_of(&billing()).await.unwrap(), Owner::There { url: "http://red".to_owned() });
    assert!(matches!(blue.why("orders", "billing").await, Err(Error::ServedElsewhere { .. })));
    assert!(matches!(
        blue.set_cursor("orders", 0, "billing", Position::Latest).await,
        Err(Error::ServedElsewhere { .. })
    ));
    assert!(matches!(blue.delete_group("billing").await, Err(Error::ServedElsewhere { .. })));
    // Another group is another's.
    blue.subscribe("orders", "shipping").start().await.unwrap();
    // Nothing of it disturbs the owner, for as long as it lives.
    tokio::time::sleep(5 * TTL).await;
    assert_eq!(elsewhere(blue.subscribe("orders", "billing").start().await), "http://red");
    assert_eq!(take_acked(&mut orders, 3).await, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_shuts_down_is_followed_at_once() {
    let (_, world) = Stubborn::new();
    let (red, blue) = two_hubs(&world, 0..2).await;
    let mut orders = red.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut orders, 1).await, [0]);
    drop(orders);
    soon(red.shutdown()).await.unwrap();
    let mut orders = blue.subscribe("orders", "billing").start().await.unwrap();
    assert_eq!(take_acked(&mut orders, 1).await, [1]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_hub_gives_its_groups_up_before_another_takes_them() {
    let (store, world) = Stubborn::new();
    let (red, blue) = two_hubs(&world, 0..2).await;
    let mut at_red = red.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
    let held = next(&mut at_red).await;
    let id = id_of_owner(&store).await;
    store.set(|faults| faults.silenced = Some(id));
    let lost = soon(async {
        while at_red.next().await.is_some() {}
        at_red.failure()
    });
    assert!(matches!(lost.await, Some(Error::LostGroup { .. })));
    let mut at_blue = None;
    until(async || blue.owner_of(&billing()).await.unwrap() == Owner::Unowned).await;
    at_blue.replace(blue.subscribe("orders", "billing").start().await.unwrap());
    let again = next(at_blue.as_mut().unwrap()).await;
    assert_eq!((again.offset(), again.attempt()), (0, 1), "a takeover costs no attempt");
    assert!(held.ack().await.is_err(), "what the silent one leased does not count");
    again.ack().await.unwrap();
    // It is a hub again, under another name, and knows who has the group now.
    until(async || red.owner_of(&billing()).await.unwrap() == Owner::There { url: "http://blue".to_owned() }).await;
    assert_eq!(elsewhere(red.subscribe("orders", "billing").start().await), "http://blue");
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_not_used_at_its_hub_is_free_for_another() {
    let (_, world) = Stubborn::new();
    let (red, blue) = two_hubs(&world, 0..1).await;
    let orders = red.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
    tokio::time::sleep(3 * TTL).await;
    assert_eq!(elsewhere(blue.subscribe("orders", "billing").start().await), "http://red");
    orders.unsubscribe().await;
    until(async || blue.owner_of(&billing()).await.unwrap() == Owner::Unowned).await;
    let mut orders = blue.subscribe("orders", "billing").start().await.unwrap();
    assert_eq!(take_acked(&mut orders, 1).await, [0]);
    assert_eq!(elsewhere(red.subscribe("orders", "billing").start().await), "http://blue");
}

#[tokio::test(start_paused = true)]
async fn many_who_ask_at_once_agree_on_one_hub() {
    let (_, world) = Stubborn::new();
    let hubs = [hub(&world, "red").await, hub(&world, "blue").await, hub(&world, "green").await];
    publish_numbers(&hubs[0], "orders", 0..1).await;
    let asking = (0..30).map(|number| hubs[number % 3].clone()).map(|bus| async move {
        match bus.subscribe("orders", "billing").start().await {
            Ok(subscription) => Some(subscription),
            Err(Error::ServedElsewhere { .. }) => None,
            Err(other) => panic!("{other}"),
        }
    });
    let there: Vec<_> = futures::future::join_all(asking).await.into_iter().flatten().collect();
    assert_eq!(there.len(), 10, "all who asked at one of them");
}

#[tokio::test(start_paused = true)]
async fn a_group_in_use_at_another_hub_does_not_expire() {
    let (_, world) = Stubborn::new();
    let (red, blue) = two_hubs(&world, 0..1).await;
    let group = red.subscribe("orders", "billing").from(Position::Latest).expire_after(Duration::from_secs(60));
    let mut orders = group.start().await.unwrap();
    assert!(stays_silent(&mut orders, Duration::from_secs(120)).await);
    assert!(blue.expire_groups_now().await.unwrap().is_empty(), "it is in use at the other");
    drop(orders);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(blue.expire_groups_now().await.unwrap(), [billing()]);
}

/// A clock that a test can put forward, as if its hub had slept.
struct SleepyClock {
    awake: Arc<TokioClock>,
    slept_ms: AtomicU64,
}

impl Clock for SleepyClock {
    fn now_ms(&self) -> i64 {
        self.awake.now_ms()
    }

    fn monotonic(&self) -> Duration {
        self.awake.monotonic() + Duration::from_millis(self.slept_ms.load(Ordering::Relaxed))
    }
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_slept_past_its_time_hands_out_nothing_when_it_wakes() {
    let world = World::new();
    let clock = Arc::new(SleepyClock { awake: world.clock.clone(), slept_ms: AtomicU64::new(0) });
    let options = HubOptions { url: "http://red".to_owned(), ttl: TTL };
    let red = world
        .bus_with(|bus| {
            bus.hub = Some(options);
            bus.clock = clock.clone();
        })
        .await;
    publish_numbers(&red, "orders", 0..1).await;
    let subscribe = red.subscribe("orders", "billing").from(Position::Earliest);
    let mut orders = subscribe.start().await.unwrap();
    let in_flight = async || red.lag("orders", "billing").await.unwrap().in_flight;
    until(async || in_flight().await == 1).await;
    // The first lies in its queue when it falls asleep, the second comes when it wakes. Its timers have not noticed.
    clock.slept_ms.store(11_000, Ordering::Relaxed);
    publish_numbers(&red, "orders", 1..2).await;
    assert!(orders.next_batch().await.is_empty(), "another hub may have delivered these");
    assert!(matches!(orders.failure(), Some(Error::LostGroup { .. })));
    assert_eq!(in_flight().await, 0, "and nothing more was leased");
}
