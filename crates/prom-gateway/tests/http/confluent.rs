//! The registry under Confluent's addresses.

use axum::http::Method;
use serde_json::{Value, json};

use crate::home::{Answer, Ask, Home};

const KIND: &str = "application/vnd.schemaregistry.v1+json";

fn body(schema: &Value) -> String {
    json!({"schema": schema.to_string(), "schemaType": "JSON"}).to_string()
}

fn person() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
}

fn person_with_age() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]})
}

#[track_caller]
fn refused(answer: &Answer, status: u16, code: u32) -> String {
    assert_eq!((answer.status.as_u16(), answer.content_type()), (status, KIND), "{}", answer.text());
    let problem: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(problem["error_code"], code, "{problem}");
    problem["message"].as_str().unwrap().to_owned()
}

async fn delete(home: &Home, path: &str) -> Answer {
    Ask::new(Method::DELETE, path).send(home).await
}

#[tokio::test]
async fn a_subject_is_registered_read_and_looked_up_under_both_names() {
    let home = Home::open().await;
    let made = home.post("/subjects/people-value/versions?normalize=True", body(&person())).await;
    assert_eq!(made.content_type(), KIND);
    let id = made.json()["id"].clone();
    assert_eq!(home.post("/subjects/people/versions", body(&person())).await.json()["id"], id);
    assert_eq!(home.get("/subjects").await.json(), json!(["people"]));
    for subject in ["people", "people-value"] {
        assert_eq!(home.get(&format!("/subjects/{subject}/versions")).await.json(), json!([1]));
        for version in ["1", "latest", "-1"] {
            let found = home.get(&format!("/subjects/{subject}/versions/{version}")).await.json();
            assert_eq!((&found["subject"], &found["version"], &found["id"]), (&json!(subject), &json!(1), &id));
            let schema: Value = serde_json::from_str(found["schema"].as_str().unwrap()).unwrap();
            assert_eq!((&found["schemaType"], schema), (&json!("JSON"), person()));
        }
        assert_eq!(home.get(&format!("/subjects/{subject}/versions/1/schema")).await.json(), person());
        assert_eq!(home.post(&format!("/subjects/{subject}"), body(&person())).await.json()["version"], 1);
    }
    let found = home.get(&format!("/schemas/ids/{id}")).await.json();
    assert_eq!(serde_json::from_str::<Value>(found["schema"].as_str().unwrap()).unwrap(), person());
    assert_eq!(home.get(&format!("/schemas/ids/{id}/schema")).await.json(), person());
    assert_eq!(home.get(&format!("/schemas/ids/{id}/subjects")).await.json(), json!(["people"]));
    assert_eq!(
        home.get(&format!("/schemas/ids/{id}/versions")).await.json(),
        json!([{"subject": "people", "version": 1}])
    );
    assert_eq!(home.get("/schemas/types").await.json(), json!(["JSON"]));
    assert_eq!(home.get("/mode").await.json(), json!({"mode": "READWRITE"}));
    assert_eq!(home.get("/contexts").await.json(), json!(["."]));
}

#[tokio::test]
async fn every_refusal_has_its_code() {
    let home = Home::open().await;
    home.post("/subjects/people/versions", body(&person())).await.json();
    refused(&home.get("/subjects/nobody/versions").await, 404, 40401);
    refused(&home.get("/subjects/people-key/versions").await, 404, 40401);
    refused(&home.get("/subjects/people/versions/9").await, 404, 40402);
    refused(&home.get("/subjects/people/versions/first").await, 422, 42202);
    refused(&home.get("/schemas/ids/999").await, 404, 40403);
    refused(&home.post("/subjects/people", body(&person_with_age())).await, 404, 40403);
    refused(&home.post("/subjects/nobody", body(&person())).await, 404, 40401);
    let avro = json!({"schema": "{\"type\":\"string\"}"}).to_string();
    let told = refused(&home.post("/subjects/people/versions", avro).await, 422, 42201);
    assert!(told.contains("AVRO") && told.contains("JSON"), "{told}");
    refused(&home.post("/subjects/people/versions", body(&json!({"type": "strung"}))).await, 422, 42201);
    let not_json = json!({"schema": "{", "schemaType": "JSON"}).to_string();
    refused(&home.post("/subjects/people/versions", not_json).await, 422, 42201);
    refused(&home.post("/subjects/people-key/versions", body(&person())).await, 422, 42208);
    refused(&home.post("/subjects/People/versions", body(&person())).await, 422, 42208);
    let told = refused(&home.post("/subjects/people/versions", body(&person_with_age())).await, 409, 409);
    assert!(told.contains("incompatible") && told.contains("people"), "{told}");
    refused(&home.put("/config/people", json!({"compatibility": "SIDEWAYS"})).await, 422, 42203);
    refused(&home.post("/subjects/people/versions", "{").await, 400, 400);
    refused(&home.get("/config/people").await, 404, 40408);
    refused(&home.get("/mode/people").await, 404, 40409);
}

#[tokio::test]
async fn compatibility_is_told_with_messages_where_asked_for() {
    let home = Home::open().await;
    home.post("/subjects/people/versions", body(&person())).await.json();
    let check =
        async |path: &str, schema: Value| home.post(&format!("/compatibility/subjects/{path}"), body(&schema)).await;
    for path in ["people/versions/latest", "people/versions/1", "people/versions", "people-value/versions/-1"] {
        assert_eq!(check(path, person_with_age()).await.json(), json!({"is_compatible": false}), "{path}");
        let verbose = check(&format!("{path}?verbose=True"), person_with_age()).await.json();
        assert!(verbose["messages"][0].as_str().unwrap().contains("rule"), "{verbose}");
        let wider = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        assert_eq!(check(path, wider).await.json()["is_compatible"], true, "{path}");
    }
    assert_eq!(check("nobody/versions/latest", person()).await.json()["is_compatible"], true);
    refused(&check("nobody/versions/1", person()).await, 404, 40401);
    refused(&check("people/versions/7", person()).await, 404, 40402);
    assert_eq!(home.get("/subjects/people/versions").await.json(), json!([1]));
}

#[tokio::test]
async fn levels_and_policies_are_set_and_taken_back() {
    let home = Home::open().await;
    assert_eq!(
        home.get("/config").await.json(),
        json!({"compatibilityLevel": "BACKWARD", "compatibilityPolicy": "LENIENT"})
    );
    assert_eq!(home.put("/config", json!({"compatibility": "FULL"})).await.json(), json!({"compatibility": "FULL"}));
    let own = json!({"compatibility": "NONE", "compatibilityPolicy": "STRICT"});
    assert_eq!(home.put("/config/people", own.clone()).await.json(), own);
    let told = json!({"compatibilityLevel": "NONE", "compatibilityPolicy": "STRICT"});
    assert_eq!(home.get("/config/people").await.json(), told);
    assert_eq!(home.get("/config/other?defaultToGlobal=true").await.json()["compatibilityLevel"], "FULL");
    assert_eq!(delete(&home, "/config/people").await.json(), told);
    refused(&home.get("/config/people").await, 404, 40408);
    refused(&delete(&home, "/config/people").await, 404, 40408);
    delete(&home, "/config").await.json();
    assert_eq!(home.get("/config").await.json()["compatibilityLevel"], "BACKWARD");
}

#[tokio::test]
async fn deletes_are_soft_first_and_hard_after() {
    let home = Home::open().await;
    home.put("/config/people", json!({"compatibility": "NONE"})).await.json();
    let id = home.post("/subjects/people/versions", body(&person())).await.json()["id"].clone();
    home.post("/subjects/people/versions", body(&person_with_age())).await.json();
    refused(&delete(&home, "/subjects/people/versions/1?permanent=true").await, 404, 40407);
    assert_eq!(delete(&home, "/subjects/people/versions/1").await.json(), json!(1));
    refused(&delete(&home, "/subjects/people/versions/1").await, 404, 40406);
    assert_eq!(home.get("/subjects/people/versions").await.json(), json!([2]));
    assert_eq!(home.get("/subjects/people/versions?deleted=true").await.json(), json!([1, 2]));
    refused(&home.get("/subjects/people/versions/1").await, 404, 40402);
    assert_eq!(home.get("/subjects/people/versions/1?deleted=true").await.json()["id"], id);
    // Readers of what was stored under it still find its schema.
    assert_eq!(home.get(&format!("/schemas/ids/{id}/schema")).await.json(), person());
    refused(&delete(&home, "/subjects/people?permanent=true").await, 404, 40405);
    assert_eq!(delete(&home, "/subjects/people").await.json(), json!([2]));
    refused(&delete(&home, "/subjects/people").await, 404, 40404);
    assert_eq!(home.get("/subjects").await.json(), json!([]));
    assert_eq!(home.get("/subjects?deleted=true").await.json(), json!(["people"]));
    assert_eq!(delete(&home, "/subjects/people?permanent=true").await.json(), json!([1, 2]));
    refused(&delete(&home, "/subjects/people?permanent=true").await, 404, 40401);
}

#[tokio::test]
async fn references_are_kept_and_protect_what_they_refer_to() {
    let home = Home::open().await;
    home.post("/subjects/address-value/versions", body(&json!({"type": "object", "required": ["city"]}))).await.json();
    let refers = json!({"schema": json!({"properties": {"to": {"$ref": "address.json"}}}).to_string(), "schemaType": "JSON",
        "references": [{"name": "address.json", "subject": "address-value", "version": 1}]});
    let id = home.post("/subjects/parcel/versions", refers.to_string()).await.json()["id"].clone();
    let found = home.get("/subjects/parcel/versions/1").await.json();
    assert_eq!(found["references"], json!([{"name": "address.json", "subject": "address", "version": 1}]));
    assert_eq!(home.get("/subjects/address/versions/1/referencedby").await.json(), json!([id]));
    refused(&delete(&home, "/subjects/address/versions/1").await, 422, 42206);
    refused(&delete(&home, "/subjects/address").await, 422, 42206);
    let missing = refers.to_string().replace("\"version\":1", "\"version\":9");
    refused(&home.post("/subjects/parcel2/versions", missing).await, 422, 42201);
}

#[tokio::test]
async fn rights_are_those_of_the_topic_and_ids_tell_nothing_to_others() {
    let home = Home::protected().await;
    let ask = |method: Method, path: &str, scopes: &[&str]| Ask::new(method, path).token(scopes);
    let register = |path: &'static str, scopes: &'static [&'static str]| {
        ask(Method::POST, path, scopes).body(body(&json!({"title": path, "type": "object"}))).send(&home)
    };
    let id = register("/subjects/shop.orders/versions", &["admin:shop.**"]).await.json()["id"].clone();
    register("/subjects/other/versions", &["admin"]).await.json();
    refused(&register("/subjects/other/versions", &["subscribe", "publish", "ops"]).await, 403, 40301);
    refused(&Ask::new(Method::GET, "/subjects").send(&home).await, 401, 40101);
    refused(&ask(Method::GET, "/subjects", &[]).send(&home).await, 403, 40301);
    assert_eq!(ask(Method::GET, "/subjects", &["subscribe:shop.**"]).send(&home).await.json(), json!(["shop.orders"]));
    let by_id = format!("/schemas/ids/{id}");
    ask(Method::GET, &by_id, &["publish:shop.orders"]).send(&home).await.json();
    let hidden = ask(Method::GET, &by_id, &["publish:other"]).send(&home).await;
    refused(&hidden, 404, 40403);
    assert_eq!(hidden.body, ask(Method::GET, "/schemas/ids/777", &["publish:other"]).send(&home).await.body);
    for path in ["/subjects/shop.orders/versions", "/subjects/shop.orders/versions/1", "/config/shop.orders"] {
        let there = ask(Method::GET, path, &["subscribe:other"]).send(&home).await;
        refused(&there, 403, 40301);
    }
    for (method, path) in [
        (Method::DELETE, "/subjects/shop.orders"),
        (Method::DELETE, "/subjects/shop.orders/versions/1"),
        (Method::PUT, "/config/shop.orders"),
        (Method::PUT, "/config"),
        (Method::DELETE, "/config"),
    ] {
        let config = json!({"compatibility": "NONE"}).to_string();
        let answer = ask(method, path, &["subscribe", "admin:other"]).body(config).send(&home).await;
        refused(&answer, 403, 40301);
    }
    let refers = json!({"schema": "{\"$ref\":\"o\"}", "schemaType": "JSON",
        "references": [{"name": "o", "subject": "other", "version": 1}]});
    let referring = ask(Method::POST, "/subjects/shop.orders/versions", &["admin:shop.**"]).body(refers.to_string());
    refused(&referring.send(&home).await, 403, 40301);
}
