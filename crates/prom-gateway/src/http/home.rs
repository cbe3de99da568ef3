//! `GET /`: what a browser sees.

use axum::response::Html;

const PAGE: &str = include_str!("home.html");

pub(super) async fn get() -> Html<&'static str> {
    Html(PAGE)
}
