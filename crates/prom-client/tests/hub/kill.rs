//! The hub is killed while the client works, and started again over the same store.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prom_client::{ClientOptions, Delivery, Error, Position, json};

use crate::scene::{Scene, within};

/// Events published while the hub is killed so many times.
const EVENTS: u64 = 6000;
const KILLS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_is_stored_once_and_seen_by_group_and_tail() {
    for options in [ClientOptions::default(), ClientOptions::default().plain_frames()] {
        Box::pin(survive(options)).await;
    }
}

async fn survive(options: ClientOptions) {
    let mut scene = Scene::open().await;
    let (publisher, reader) = (scene.client_with(options.clone()).await, scene.client_with(options).await);
    // A tail that begins at the latest event has to see one before it can go on from there.
    let mut tail = within(reader.tail("a").from(Position::Earliest).start()).await.unwrap();
    let seen = Mutex::new(vec![0u32; EVENTS as usize]);
    let subscribe = reader.subscribe("a", "g").from(Position::Earliest).concurrency(8);
    let handling = subscribe.run(|delivery: Delivery| {
        seen.lock().unwrap()[delivery.payload::<usize>().unwrap()] += 1;
        async { Ok::<(), Error>(()) }
    });
    let done = AtomicBool::new(false);
    let publishing = async {
        let mut offsets = Vec::new();
        for round in 0..EVENTS / 100 {
            let some: Vec<_> = (0..100).map(|n| publisher.publish("a", json!(round * 100 + n)).send()).collect();
            for publishing in some {
                offsets.push(publishing.await.unwrap().offset);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        done.store(true, Ordering::Relaxed);
        offsets
    };
    let killing = async {
        for _ in 0..KILLS {
            tokio::time::sleep(Duration::from_millis(60)).await;
            scene.kill();
            scene.start().await;
        }
        scene
    };
    let tailing = async {
        for offset in 0..EVENTS {
            let event = tail.next().await.unwrap();
            assert_eq!((event.offset(), event.payload::<u64>().unwrap()), (offset, offset));
        }
    };
    let work = async {
        let (offsets, scene, ()) = tokio::join!(publishing, killing, tailing);
        while seen.lock().unwrap().contains(&0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        reader.close().await;
        (offsets, scene)
    };
    let (ran, (offsets, _scene)) = within(Box::pin(async { tokio::join!(handling, work) })).await;
    ran.unwrap();
    assert_eq!(offsets, (0..EVENTS).collect::<Vec<_>>(), "each stored once, in order");
    assert!(done.load(Ordering::Relaxed));
}
