//! Publishing to the real hub.

use prom_client::{ClientOptions, Error, ErrorCode, EventId, NewEvent, Receipt, TopicName, json};

use crate::scene::{Scene, within};

#[tokio::test]
async fn events_get_offsets_in_the_order_of_their_publishing() {
    let scene = Scene::open().await;
    for options in [ClientOptions::default(), ClientOptions::default().plain_frames()] {
        let client = scene.client_with(options).await;
        let first = within(client.publish("orders.placed", json!(0)).send()).await.unwrap().offset;
        let publishing: Vec<_> = (1..5000).map(|n| client.publish("orders.placed", json!(n)).send()).collect();
        for (at, publishing) in publishing.into_iter().enumerate() {
            assert_eq!(within(publishing).await.unwrap().offset, first + 1 + at as u64);
        }
        within(client.close()).await;
    }
}

#[tokio::test]
async fn a_repeated_id_is_stored_once_and_a_batch_whole_or_not_at_all() {
    let scene = Scene::open().await;
    let client = scene.client().await;
    let id = EventId::derived("one");
    let first = within(client.publish("a", json!(1)).id(id).send()).await.unwrap();
    let again = within(client.publish("a", json!(1)).id(id).send()).await.unwrap();
    assert_eq!((first.duplicate, again.duplicate), (false, true));
    assert_eq!(Receipt { duplicate: false, ..again }, first);
    let same = NewEvent { id: Some(id), ..NewEvent::new(TopicName::parse("a").unwrap(), json!(1)) };
    let batch = within(client.publish_batch(vec![same.clone()])).await.unwrap();
    assert_eq!((batch[0].duplicate, batch[0].offset), (true, first.offset));
    let many: Vec<_> = (0..3).map(|_| client.publish_event(same.clone())).collect();
    for one in many {
        assert!(within(one).await.unwrap().duplicate, "in a frame of many");
    }
    let event = |topic: &str| NewEvent::new(TopicName::parse(topic).unwrap(), json!(1));
    let receipts = within(client.publish_batch(vec![event("a"), event("b"), event("a")])).await.unwrap();
    assert_eq!(receipts.iter().map(|receipt| receipt.offset).collect::<Vec<_>>(), [1, 0, 2]);
    let mut wrong = event("a");
    wrong.partition = Some(7);
    let refused = within(client.publish_batch(vec![event("a"), wrong])).await.unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    assert_eq!(within(client.publish("a", json!(1)).send()).await.unwrap().offset, 3);
}

#[tokio::test]
async fn what_is_too_large_for_the_hub_costs_nothing_but_itself() {
    let scene = Scene::open().await;
    let client = scene.client().await;
    let refused = within(client.publish("a", json!("x".repeat(1 << 20))).send()).await.unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::TooLarge), "{refused}");
    let just_fits = within(client.publish("a", json!("x".repeat((1 << 20) - 300))).send()).await.unwrap();
    assert_eq!(just_fits.offset, 0);
}
