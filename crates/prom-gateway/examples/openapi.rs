//! Writes the OpenAPI document that other tools read: `cargo run -p prom-gateway --example openapi`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../protocol/openapi.json");
    let text = prom_gateway::http::openapi().to_pretty_json().map_err(std::io::Error::other)?;
    std::fs::write(path, text + "\n")
}
