//! `/replay`.

use prom_engine::TopicSettings;
use serde_json::{Value, json};

use crate::home::Home;

fn payloads(page: &Value) -> Vec<u64> {
    page["events"].as_array().unwrap().iter().map(|event| event["payload"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn everything_comes_again_from_the_beginning_unless_asked_otherwise() {
    let home = Home::ticking_by(1).await;
    home.publish_numbers("a", 6).await;
    let page = home.get("/replay?topic=a").await.json();
    assert_eq!((&page["topic"], &page["count"], &page["end"]), (&json!("a"), &json!(6), &json!(true)));
    assert_eq!(payloads(&page), [0, 1, 2, 3, 4, 5]);
    let id = page["events"][2]["id"].as_str().unwrap();
    let ts = page["events"][4]["stored_ts"].as_i64().unwrap();
    for (query, expected) in [
        ("from=earliest&limit=2".to_owned(), &[0, 1][..]),
        (format!("from=afterId&afterId={id}"), &[3, 4, 5]),
        (format!("afterId={id}&limit=1"), &[3]),
        (format!("from=ts&ts={ts}"), &[4, 5]),
        (format!("from=ts&ts={}", ts + 100_000_000), &[]),
        ("from=offset&offset=5".to_owned(), &[5]),
        ("offset=600".to_owned(), &[]),
        ("from=latest".to_owned(), &[]),
        ("from=&ts=&afterId=&offset=&limit=&unknown=1".to_owned(), &[0, 1, 2, 3, 4, 5]),
    ] {
        let page = home.get(&format!("/replay?topic=a&{query}")).await.json();
        assert_eq!(payloads(&page), expected, "{query}");
    }
}

#[tokio::test]
async fn pages_follow_each_other_over_all_partitions_and_go_on_later() {
    let home = Home::open().await;
    home.bus.create_topic(TopicSettings::new("a").unwrap().partitions(3)).await.unwrap();
    for n in 0..20_u32 {
        home.bus.publish("a", json!(n)).partition(n % 3).await.unwrap();
    }
    let mut page = home.get("/replay?topic=a&limit=6").await.json();
    let mut seen = payloads(&page);
    while page["end"] == false {
        page = home.get(&format!("/replay?topic=a&limit=6&next={}", page["next"].as_str().unwrap())).await.json();
        assert!(page["count"].as_u64().unwrap() <= 6);
        seen.extend(payloads(&page));
    }
    assert_eq!(&seen[..7], [0, 3, 6, 9, 12, 15, 18], "partition by partition");
    seen.sort_unstable();
    assert_eq!(seen, (0..20).collect::<Vec<_>>());

    home.bus.publish("a", json!(20)).await.unwrap();
    let later = home.get(&format!("/replay?topic=a&next={}", page["next"].as_str().unwrap())).await.json();
    assert_eq!(payloads(&later), [20]);
}

#[tokio::test]
async fn large_pages_end_early_and_say_where_to_go_on() {
    let home = Home::open().await;
    for n in 0..12 {
        let payload = json!({"n": n, "fill": "x".repeat(1_000_000)});
        home.bus.publish("a", payload).await.unwrap();
    }
    let page = home.get("/replay?topic=a").await.json();
    let count = page["count"].as_u64().unwrap();
    assert!((1..12).contains(&count) && page["end"] == false);
    let rest = home.get(&format!("/replay?topic=a&next={}", page["next"].as_str().unwrap())).await.json();
    assert_eq!(rest["events"][0]["offset"], count);
    assert_eq!(rest["end"], true);
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let home = Home::open().await;
    home.publish_numbers("a", 1).await;
    for (query, named) in [
        ("", "topic"),
        ("topic=..", "topic"),
        ("topic=a&limit=0", "limit"),
        ("topic=a&limit=10001", "limit"),
        ("topic=a&limit=NaN", "limit"),
        ("topic=a&limit=-1", "limit"),
        ("topic=a&offset=-1", "offset"),
        ("topic=a&offset=1.5", "offset"),
        ("topic=a&ts=soon", "ts"),
        ("topic=a&from=ts", "ts"),
        ("topic=a&from=middle", "from"),
        ("topic=a&ts=1&offset=1", "from"),
        ("topic=a&afterId=7", "afterId"),
        ("topic=a&next=1.2", "next"),
        ("topic=a&next=x", "next"),
        ("topic=a&topic=b", "topic"),
    ] {
        let problem = home.get(&format!("/replay?{query}")).await.problem(400, "bad_request");
        assert!(problem["detail"].as_str().unwrap().contains(named), "{query} → {problem}");
    }
    home.get("/replay?topic=b").await.problem(404, "unknown_topic");
    home.get("/replay?topic=a&afterId=0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f").await.problem(404, "unknown_topic");
}
