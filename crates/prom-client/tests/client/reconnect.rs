//! Lost connections: what is sent again, and when there is no use in trying.

use std::time::Duration;

use prom_client::{Client, ConnectionState, Error, Notice, json};

use crate::support::{Hub, connected, connected_with, notice, options, within};

#[tokio::test]
async fn what_was_under_way_is_sent_again_with_the_same_ids_in_order() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let mut notices = client.notices();
    let first: Vec<_> = (0..3).map(|n| client.publish("a", json!(n)).send()).collect();
    let sent = peer.frame("PUBLISH").await;
    drop(peer);
    notice(&mut notices, |notice| matches!(notice, Notice::Disconnected { .. })).await;
    let later = client.publish("a", json!(3)).send();

    let mut peer = hub.welcome().await;
    let again = peer.frame("PUBLISH").await;
    let ids = |frame: &serde_json::Value| -> Vec<serde_json::Value> {
        frame["events"].as_array().unwrap().iter().map(|event| event["opts"]["id"].clone()).collect()
    };
    assert_eq!(ids(&again)[..3], ids(&sent)[..]);
    assert_eq!(again["events"][3]["payload"], 3, "what was published meanwhile follows");
    peer.receipts(&again, 0).await;
    for publishing in first.into_iter().chain([later]) {
        within(publishing).await.unwrap();
    }
    assert_eq!(client.state(), ConnectionState::Connected);
}

#[tokio::test]
async fn what_was_answered_is_not_sent_again() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected_with(&hub, options().plain_frames()).await;
    let (one, two) = (client.publish("a", json!(1)).send(), client.publish("a", json!(2)).send());
    let first = peer.frame("PUBLISH").await;
    peer.frame("PUBLISH").await;
    peer.receipt(&first, 0).await;
    within(one).await.unwrap();
    drop(peer);
    let mut peer = hub.welcome_with(json!({})).await;
    let again = peer.frame("PUBLISH").await;
    assert_eq!(again["payload"], 2);
    peer.receipt(&again, 1).await;
    within(two).await.unwrap();
    assert!(peer.is_quiet().await);
}

#[tokio::test]
async fn a_close_that_wants_no_reconnect_ends_everything_with_the_reason() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let publishing = client.publish("a", json!(1)).send();
    peer.frame("PUBLISH").await;
    let subscribing = client.subscribe("a", "g").start();
    let ((), subscription) = within(async {
        tokio::join!(
            async {
                peer.subscribe().await;
            },
            subscribing
        )
    })
    .await;
    let mut subscription = subscription.unwrap();
    peer.close(4200).await;
    let failed = within(publishing).await.unwrap_err();
    assert!(matches!(failed, Error::GaveUp { .. }) && failed.may_be_stored(), "{failed}");
    assert!(failed.to_string().contains("4200"), "{failed}");
    assert!(within(subscription.next()).await.is_none());
    assert!(subscription.failure().unwrap().to_string().contains("4200"));
    let ConnectionState::Closed { reason } = client.state() else {
        panic!("{:?}", client.state());
    };
    assert!(reason.contains("4200"), "{reason}");
    assert!(hub.is_left_alone().await);
    let refused = client.publish("a", json!(2)).await.unwrap_err();
    assert!(matches!(&refused, Error::Closed { .. }) && refused.to_string().contains("4200"), "{refused}");
}

#[tokio::test]
async fn a_hub_that_goes_away_is_connected_to_again() {
    let hub = Hub::start().await;
    let (client, peer) = connected(&hub).await;
    let mut notices = client.notices();
    peer.close(1001).await;
    let lost = notice(&mut notices, |notice| matches!(notice, Notice::Disconnected { .. })).await;
    assert_eq!(lost, Notice::Disconnected { reason: "the hub closed the connection with 1001".to_owned() });
    let _peer = hub.welcome_with(json!({"hub": "prom/9", "connection": "c7"})).await;
    let back = notice(&mut notices, |notice| matches!(notice, Notice::Connected { .. })).await;
    assert_eq!(back, Notice::Connected { hub: "prom/9".to_owned(), connection: "c7".to_owned() });
}

#[tokio::test]
async fn a_hub_that_talks_nonsense_is_left_and_connected_to_again() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    for nonsense in [
        "nonsense",
        "[1]",
        r#"{"op":"OK","corr":4711}"#,
        r#"{"op":"OK","corr":{}}"#,
        r#"{"op":"EVENT","topic":7}"#,
        r#"{"op":"ERR","code":"no_such_code","msg":"?"}"#,
    ] {
        peer.send_text(nonsense).await;
        while within(peer.next()).await.is_some() {}
        peer = hub.welcome().await;
    }
    let publishing = client.publish("a", json!(1)).send();
    let frame = peer.frame("PUBLISH").await;
    peer.ok_with(&frame, json!({"offset": "seven"})).await;
    let mut peer = hub.welcome().await;
    let again = peer.frame("PUBLISH").await;
    assert_eq!(again["opts"]["id"], frame["opts"]["id"]);
    peer.receipt(&again, 0).await;
    within(publishing).await.unwrap();
    // What a newer hub may say is no nonsense.
    peer.send(json!({"op": "PROMOTED", "topic": "a", "ranks": [1]})).await;
    peer.ping().await;
    assert!(peer.is_quiet().await);
    assert_eq!(peer.pongs, 1, "pings are answered");
}

#[tokio::test]
async fn a_silent_hub_is_asked_and_then_given_up() {
    let hub = Hub::start().await;
    let silence = options().silence(Duration::from_millis(100), Duration::from_millis(400));
    let (client, mut peer) = connected_with(&hub, silence).await;
    let mut notices = client.notices();
    assert!(within(peer.next()).await.is_none(), "it hangs up");
    assert_eq!(peer.pings, 1);
    let lost = notice(&mut notices, |notice| matches!(notice, Notice::Disconnected { .. })).await;
    assert!(format!("{lost:?}").contains("nothing came"), "{lost:?}");
    hub.welcome().await;
}

#[tokio::test]
async fn the_first_connect_fails_at_once_where_there_is_no_hub() {
    let hub = Hub::start().await;
    let url = hub.url();
    drop(hub);
    let refused = within(Client::connect(&url, options())).await.err().unwrap();
    assert!(matches!(refused, Error::Unreachable { .. }), "{refused}");
    for nonsense in ["127.0.0.1:1", "ftp://a"] {
        let refused = within(Client::connect(nonsense, options())).await.err().unwrap();
        assert!(matches!(refused, Error::Url { .. }), "{refused}");
    }
}

#[tokio::test]
async fn in_the_background_it_waits_for_a_hub_to_come() {
    let hub = Hub::start().await;
    let client = Client::connect_in_background(&hub.url(), options()).unwrap();
    let mut states = client.state_changes();
    assert_eq!(within(states.next()).await, Some(ConnectionState::Connecting));
    let publishing = client.publish("a", json!(1)).send();
    drop(hub.stream().await);
    let mut peer = hub.welcome().await;
    assert_eq!(within(states.next()).await, Some(ConnectionState::Connected));
    let frame = peer.frame("PUBLISH").await;
    peer.receipt(&frame, 0).await;
    within(publishing).await.unwrap();
}

#[tokio::test]
async fn an_answer_that_is_no_upgrade_is_no_hub() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let hub = Hub::start().await;
    let wrong_key = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
                     sec-websocket-accept: AAAA\r\n\r\n";
    for (answer, reason) in
        [("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "404"), (wrong_key, "Sec-WebSocket-Accept")]
    {
        let (url, serve) = (hub.url(), async {
            let mut stream = hub.stream().await;
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream
        });
        let (refused, _stream) = within(async { tokio::join!(Client::connect(&url, options()), serve) }).await;
        let refused = refused.err().unwrap();
        assert!(matches!(&refused, Error::Unreachable { .. }) && refused.to_string().contains(reason), "{refused}");
    }
}
