//! Upgrades: where, how, and what an open hub refuses to web pages of other machines.

use prom_gateway::{Cors, GatewayOptions};

use crate::raw::Raw;
use crate::scene::Scene;

async fn status(scene: &Scene, path: &str, headers: &[(&str, &str)]) -> u16 {
    Raw::upgrade(scene, path, headers).await.0
}

#[tokio::test]
async fn a_websocket_is_had_at_two_paths_and_by_the_rules_only() {
    let scene = Scene::open().await;
    assert_eq!(status(&scene, "/", &[]).await, 101);
    assert_eq!(status(&scene, "/ws", &[]).await, 101);
    assert_eq!(status(&scene, "/ws?token=x", &[]).await, 101);
    assert_eq!(status(&scene, "/ws", &[("connection", "keep-alive, upgrade"), ("upgrade", "WebSocket")]).await, 101);
    assert_eq!(status(&scene, "/elsewhere", &[]).await, 404);
    assert_eq!(status(&scene, "/ws", &[("sec-websocket-version", "8")]).await, 400);
    assert_eq!(status(&scene, "/ws", &[("sec-websocket-version", "")]).await, 400);
    assert_eq!(status(&scene, "/ws", &[("sec-websocket-key", "")]).await, 400);
}

#[tokio::test]
async fn an_open_hub_serves_this_machine_and_no_page_of_another() {
    let scene = Scene::open().await;
    for ours in ["http://localhost:3000", "http://127.0.0.1", "https://localhost", "http://[::1]:8090"] {
        assert_eq!(status(&scene, "/ws", &[("origin", ours)]).await, 101, "{ours}");
    }
    for foreign in ["https://evil.example", "http://localhost.evil.example", "null", "http://10.0.0.1", "x"] {
        assert_eq!(status(&scene, "/ws", &[("origin", foreign)]).await, 403, "{foreign}");
        assert_eq!(get(&scene, "origin", foreign).await, 403, "{foreign}");
    }
    for foreign in ["evil.example", "evil.example:8090", "10.0.0.1", "localhost.evil.example"] {
        assert_eq!(status(&scene, "/ws", &[("host", foreign)]).await, 403, "{foreign}");
        assert_eq!(get(&scene, "host", foreign).await, 403, "{foreign}");
    }
    assert_eq!(get(&scene, "host", "localhost:1").await, 200);
}

#[tokio::test]
async fn an_origin_that_is_allowed_by_name_is_let_in() {
    let page = "https://ops.example.com";
    let cors = Cors::Origins(vec![page.to_owned()]);
    let scene = Scene::limited(GatewayOptions { cors, ..GatewayOptions::default() }).await;
    assert_eq!(status(&scene, "/ws", &[("origin", page)]).await, 101);
    assert_eq!(status(&scene, "/ws", &[("origin", "https://evil.example")]).await, 403);
}

#[tokio::test]
async fn a_hub_with_auth_goes_by_tokens_not_by_names() {
    let scene = Scene::protected().await;
    assert_eq!(status(&scene, "/ws", &[("host", "hub.example.com")]).await, 101);
}

async fn get(scene: &Scene, name: &str, value: &str) -> u16 {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{}/healthz", scene.server.address());
    client.get(url).header(name, value).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn an_open_hub_is_not_embedded_by_pages_of_others_and_no_answer_is_taken_for_a_script() {
    let scene = Scene::open().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |site: &str, dest: &str, origin: Option<&str>| {
        let url = format!("http://{}/replay?topic=a", scene.server.address());
        let mut request = client.get(url).header("sec-fetch-site", site).header("sec-fetch-dest", dest);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        response.status().as_u16()
    };
    for dest in ["image", "script", "iframe", "empty", "style"] {
        assert_eq!(ask("cross-site", dest, None).await, 403, "{dest}");
        assert_eq!(ask("same-site", dest, None).await, 404, "{dest}");
    }
    // Someone typed the address, followed a link, or a page of this machine asks.
    assert_eq!(ask("none", "document", None).await, 404);
    assert_eq!(ask("cross-site", "document", None).await, 404);
    assert_eq!(ask("cross-site", "empty", Some("http://localhost:5173")).await, 404);
}
