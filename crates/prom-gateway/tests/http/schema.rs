//! `/registry` and `/topics/{topic}/schema`.

use axum::http::Method;
use serde_json::{Value, json};

use crate::home::{Ask, Home};

fn v1() -> Value {
    json!({"type": "object", "properties": {"pid": {"type": "integer"}, "mem_mb": {"type": "number"}}, "required": ["pid"]})
}

fn v2() -> Value {
    json!({"type": "object", "properties": {"pid": {"type": "integer"}, "mem_mib": {"type": "number"}},
        "required": ["pid", "mem_mib"]})
}

async fn register(home: &Home, topic: &str, body: Value) -> crate::home::Answer {
    home.post(&format!("/topics/{topic}/schema"), body.to_string()).await
}

#[tokio::test]
async fn versions_are_registered_listed_and_read() {
    let home = Home::open().await;
    let first = register(&home, "heartbeat", json!({"schema": v1()})).await.json();
    assert_eq!((&first["version"], &first["existed"]), (&json!(1), &json!(false)));
    let again = register(&home, "heartbeat", json!({"schema": v1()})).await.json();
    assert_eq!((&again["version"], &again["id"], &again["existed"]), (&json!(1), &first["id"], &json!(true)));
    let registry = home.get("/registry").await.json();
    assert_eq!(registry["settings"]["compat"], "backward");
    assert_eq!((&registry["topics"][0]["topic"], &registry["topics"][0]["latest"]), (&json!("heartbeat"), &json!(1)));
    let topic = home.get("/topics/heartbeat/schema").await.json();
    assert_eq!((&topic["versions"][0]["version"], &topic["overrides"]), (&json!(1), &json!({})));
    for version in ["1", "latest"] {
        let view = home.get(&format!("/topics/heartbeat/schema/{version}")).await.json();
        assert_eq!((&view["schema"], &view["id"]), (&v1(), &first["id"]), "{version}");
    }
    home.get("/topics/heartbeat/schema/2").await.problem(404, "unknown_topic");
    home.get("/topics/heartbeat/schema/newest").await.problem(400, "bad_request");
    home.get("/topics/other/schema").await.problem(404, "unknown_topic");
}

#[tokio::test]
async fn the_registry_is_filtered_sorted_and_paged_by_the_hub() {
    let home = Home::open().await;
    for topic in ["a.one", "a.two", "b.one"] {
        register(&home, topic, json!({"schema": v1()})).await.json();
    }
    register(&home, "a.two", json!({"schema": v2(), "compat": "none"})).await.json();
    let page = async |query: &str| {
        let list = home.get(&format!("/registry?{query}")).await.json();
        let topics = list["topics"].as_array().unwrap().iter().map(|topic| topic["topic"].clone()).collect::<Value>();
        (topics, list["total"].clone(), list["next"].clone())
    };
    assert_eq!(page("").await, (json!(["a.one", "a.two", "b.one"]), json!(3), Value::Null));
    assert_eq!(page("limit=2").await, (json!(["a.one", "a.two"]), json!(3), json!("2")));
    assert_eq!(page("limit=2&next=2").await, (json!(["b.one"]), json!(3), Value::Null));
    assert_eq!(page("q=one&sort=-topic").await, (json!(["b.one", "a.one"]), json!(2), Value::Null));
    assert_eq!(page("sort=-versions&limit=1").await, (json!(["a.two"]), json!(3), json!("1")));
    home.get("/registry?sort=size").await.problem(400, "bad_request");
}

#[tokio::test]
async fn an_incompatible_schema_is_refused_with_each_violation_and_an_upcaster_lets_it_in() {
    let home = Home::open().await;
    register(&home, "heartbeat", json!({"schema": v1()})).await.json();
    let problem = register(&home, "heartbeat", json!({"schema": v2()})).await.problem(409, "schema_incompatible");
    let violation = &problem["violations"][0];
    assert_eq!((&violation["direction"], &violation["against_version"]), (&json!("backward"), &json!(1)), "{problem}");
    assert!(violation["pointer"].as_str().unwrap().starts_with('/') && violation["fix"].is_string(), "{problem}");
    let check = |body: Value| home.post("/topics/heartbeat/schema/check", body.to_string());
    let verdict = check(json!({"schema": v2()})).await.json();
    assert_eq!((&verdict["compatible"], &verdict["violations"]), (&json!(false), &problem["violations"]));
    assert_eq!(check(json!({"schema": v1()})).await.json()["existing"], 1);
    let upcast =
        json!({"schema": v2(), "compat": "upcast", "upcast": ".mem_mib = .mem_mb | del(.mem_mb)", "version": 2});
    assert_eq!(check(upcast.clone()).await.json()["compatible"], true);
    assert_eq!(home.get("/topics/heartbeat/schema").await.json()["versions"].as_array().unwrap().len(), 1);
    assert_eq!(register(&home, "heartbeat", upcast).await.json()["version"], 2);
    let steps = home.get("/topics/heartbeat/schema").await.json()["upcasters"].clone();
    assert_eq!(steps, json!([{"from": 1, "to": 2, "jq": ".mem_mib = .mem_mb | del(.mem_mb)"}]));
    home.put("/topics/heartbeat/schema/upcasters/1", json!({"jq": ".mem_mib = 1"})).await.json();
    home.put("/topics/heartbeat/schema/upcasters/1", json!({"jq": "}"})).await.problem(400, "bad_request");
    let gone = Ask::new(Method::DELETE, "/topics/heartbeat/schema/upcasters/1").send(&home).await;
    gone.problem(400, "bad_request");
}

#[tokio::test]
async fn two_versions_are_compared_place_by_place_and_both_ways() {
    let home = Home::open().await;
    register(&home, "heartbeat", json!({"schema": v1()})).await.json();
    register(&home, "heartbeat", json!({"schema": v2(), "compat": "none"})).await.json();
    let diff = home.get("/topics/heartbeat/schema/diff?from=1&to=2").await.json();
    let changes: Vec<String> = diff["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| format!("{} {}", change["change"], change["pointer"]))
        .collect();
    assert_eq!(
        changes,
        [r#""removed" "/properties/mem_mb""#, r#""added" "/properties/mem_mib""#, r#""changed" "/required""#,]
    );
    assert!(!diff["backward"].as_array().unwrap().is_empty(), "{diff}");
    home.get("/topics/heartbeat/schema/diff?from=1&to=3").await.problem(404, "unknown_topic");
    home.get("/topics/heartbeat/schema/diff?from=1").await.problem(400, "bad_request");
}

#[tokio::test]
async fn settings_are_changed_inherited_and_checked() {
    let home = Home::open().await;
    let set = home.put("/topics/a/schema/settings", json!({"compat": "full", "unversioned_as": 2})).await.json();
    assert_eq!(
        (&set["compat"], &set["policy"], &set["unversioned_as"]),
        (&json!("full"), &json!("lenient"), &json!(2))
    );
    let all = home.put("/registry/settings", json!({"compat": "none", "policy": "strict"})).await.json();
    assert_eq!((&all["compat"], &all["policy"]), (&json!("none"), &json!("strict")));
    let topic = home.get("/topics/a/schema").await.json();
    assert_eq!((&topic["settings"]["compat"], &topic["settings"]["policy"]), (&json!("full"), &json!("strict")));
    assert_eq!(topic["overrides"], json!({"compat": "full", "unversioned_as": 2}));
    let cleared = Ask::new(Method::DELETE, "/topics/a/schema/settings").send(&home).await.json();
    assert_eq!(cleared["compat"], "none");
    for (wrong, named) in [
        (json!({"compat": "sideways"}), "compat"),
        (json!({"policy": 7}), "policy"),
        (json!({"unversioned_as": 0}), "unversioned_as"),
        (json!({"compatibility": "none"}), "compatibility"),
    ] {
        let problem = home.put("/topics/a/schema/settings", wrong.clone()).await.problem(400, "bad_request");
        assert!(problem["detail"].as_str().unwrap().contains(named), "{wrong}: {problem}");
    }
    let audit = home.get("/replay?topic=system.audit").await.json();
    let actions: Vec<&Value> =
        audit["events"].as_array().unwrap().iter().map(|event| &event["payload"]["action"]).collect();
    assert_eq!(actions, ["set_schema_settings", "set_registry_settings", "set_schema_settings"]);
}

#[tokio::test]
async fn versions_are_deleted_softly_and_then_for_good() {
    let home = Home::open().await;
    register(&home, "a", json!({"schema": {"type": "object"}})).await.json();
    register(&home, "a", json!({"schema": true, "compat": "none"})).await.json();
    let delete = |path: &'static str| Ask::new(Method::DELETE, path).send(&home);
    delete("/topics/a/schema/2?hard=1").await.problem(400, "bad_request");
    assert_eq!(delete("/topics/a/schema/2").await.json(), json!({"topic": "a", "versions": [2]}));
    assert_eq!(home.get("/topics/a/schema/latest").await.json()["version"], 1);
    assert_eq!(home.get("/topics/a/schema/2").await.json()["deleted"], true);
    delete("/topics/a/schema/2?hard=1").await.json();
    home.get("/topics/a/schema/2").await.problem(404, "unknown_topic");
    delete("/topics/a/schema/latest").await.problem(400, "bad_request");
    assert_eq!(delete("/topics/a/schema").await.json()["versions"], json!([1]));
    home.get("/topics/a/schema/latest").await.problem(404, "unknown_topic");
}

#[tokio::test]
async fn a_schema_that_is_none_or_too_large_is_refused_by_name() {
    let home = Home::open().await;
    for schema in
        [json!(7), json!({"type": "strung"}), json!({"$ref": "https://example.com/x.json"}), json!({"pattern": "("})]
    {
        let problem = register(&home, "a", json!({"schema": schema})).await.problem(400, "bad_request");
        assert_eq!(problem["field"], "schema", "{problem}");
    }
    let large = json!({"title": "x".repeat(300 * 1024)});
    register(&home, "a", json!({"schema": large})).await.problem(400, "bad_request");
    register(&home, "a", json!({"schema": {}, "compatibility": "none"})).await.problem(400, "bad_request");
    register(&home, "system.audit", json!({"schema": {}})).await.problem(400, "bad_request");
    assert!(home.bus.schemas().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_payload_that_does_not_fit_is_refused_with_place_rule_and_value() {
    let home = Home::open().await;
    register(&home, "heartbeat", json!({"schema": v1()})).await.json();
    let publish = |payload: Value| home.post("/publish", json!({"topic": "heartbeat", "payload": payload}).to_string());
    publish(json!({"pid": 7})).await.json();
    let problem = publish(json!({"pid": "seven"})).await.problem(422, "schema_invalid");
    assert_eq!(
        (&problem["pointer"], &problem["rule"], &problem["version"]),
        (&json!("/pid"), &json!("type"), &json!(1))
    );
    assert_eq!(problem["value"], "\"seven\"");
    assert_eq!(home.get("/topics").await.json()["topics"][0]["schema_version"], 1);
    assert_eq!(home.get("/topics/heartbeat").await.json()["schema_version"], 1);
}

#[tokio::test]
async fn those_without_rights_are_told_nothing() {
    let home = Home::protected().await;
    let schema = json!({"schema": v1()}).to_string();
    for topic in ["shop.orders", "other"] {
        let path = format!("/topics/{topic}/schema");
        Ask::new(Method::POST, &path).token(&["admin"]).body(schema.clone()).send(&home).await.json();
    }
    let settings = json!({"compat": "full"}).to_string();
    let reading: [(Method, &str, &str); 5] = [
        (Method::GET, "/topics/other/schema", ""),
        (Method::GET, "/topics/other/schema/1", ""),
        (Method::GET, "/topics/other/schema/latest", ""),
        (Method::GET, "/topics/other/schema/diff?from=1&to=1", ""),
        (Method::POST, "/topics/other/schema/check", &schema),
    ];
    for (method, path, body) in reading {
        let ask = |path: &str, scopes: &[&str]| Ask::new(method.clone(), path).token(scopes).body(body.to_owned());
        for scopes in [&[][..], &["admin:other"], &["subscribe:shop.**", "publish:shop.**", "ops:shop.**"]] {
            // The same answer, whether there is such a topic or not.
            let there = ask(path, scopes).send(&home).await;
            let missing = ask(&path.replace("other", "nobodys"), scopes).send(&home).await;
            there.problem(403, "forbidden");
            assert_eq!(there.text().replace("other", "X"), missing.text().replace("nobodys", "X"), "{path} {scopes:?}");
        }
        for scope in ["subscribe:other", "publish:other", "ops:other"] {
            ask(path, &[scope]).send(&home).await.json();
        }
        Ask::new(method.clone(), path).body(body.to_owned()).send(&home).await.problem(401, "no_token");
    }
    let changing: [(Method, &str, &str, &str); 7] = [
        (Method::POST, "/topics/other/schema", &schema, "admin:other"),
        (Method::PUT, "/topics/other/schema/settings", &settings, "admin:other"),
        (Method::DELETE, "/topics/other/schema/settings", "", "admin:other"),
        (Method::PUT, "/topics/other/schema/upcasters/1", r#"{"jq":"."}"#, "admin:other"),
        (Method::DELETE, "/topics/other/schema/1", "", "admin:other"),
        (Method::DELETE, "/topics/other/schema", "", "admin:other"),
        (Method::PUT, "/registry/settings", &settings, "admin"),
    ];
    for (method, path, body, needed) in changing {
        let ask = |scopes: &[&str]| Ask::new(method.clone(), path).token(scopes).body(body.to_owned());
        for scopes in [&[][..], &["subscribe", "publish", "ops"], &["admin:shop.**"]] {
            ask(scopes).send(&home).await.problem(403, "forbidden");
        }
        assert_ne!(ask(&[needed]).send(&home).await.status, 403, "{method} {path}");
    }
    let list = Ask::new(Method::GET, "/registry").token(&["subscribe:shop.**"]).send(&home).await.json();
    let names: Vec<&Value> = list["topics"].as_array().unwrap().iter().map(|topic| &topic["topic"]).collect();
    assert_eq!((names, &list["hidden"]), (vec![&json!("shop.orders")], &json!(true)));
    Ask::new(Method::GET, "/registry").token(&[]).send(&home).await.problem(403, "forbidden");
}

#[tokio::test]
async fn a_schema_of_a_topic_that_cannot_be_read_cannot_be_referred_to() {
    let home = Home::protected().await;
    let secret = json!({"schema": {"type": "object", "properties": {"secret": {"const": 42}}}}).to_string();
    Ask::new(Method::POST, "/topics/secret/schema").token(&["admin"]).body(secret).send(&home).await.json();
    let body =
        json!({"schema": {"$ref": "s.json"}, "references": [{"name": "s.json", "subject": "secret", "version": 1}]});
    for path in ["/topics/mine/schema", "/topics/mine/schema/check"] {
        let ask = |scopes: &[&str]| Ask::new(Method::POST, path).token(scopes).body(body.to_string()).send(&home);
        ask(&["admin:mine", "publish:mine"]).await.problem(403, "forbidden");
        ask(&["admin:mine", "publish:mine", "subscribe:secret"]).await.json();
    }
    let delete = Ask::new(Method::DELETE, "/topics/secret/schema/1").token(&["admin:secret"]).send(&home).await;
    let problem = delete.problem(400, "bad_request");
    assert!(!problem["detail"].as_str().unwrap().contains("mine"), "{problem}");
}
