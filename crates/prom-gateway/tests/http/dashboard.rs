//! `/` and `/dashboard/…`: the page, and that what is embedded is what its sources make.

use std::fs;
use std::path::{Path, PathBuf};

use axum::http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::home::{Ask, Home};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dashboard")
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).map_or("", |value| value.to_str().unwrap())
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every file below, with its path from the root.
fn files_below(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(root, &path, found);
        } else {
            found.push(path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/"));
        }
    }
}

#[test]
fn what_is_embedded_was_built_from_these_sources() {
    let root = folder();
    let manifest: Value = serde_json::from_slice(&fs::read(root.join("dist/manifest.json")).unwrap()).unwrap();
    let mut sources: Vec<String> =
        ["package.json", "package-lock.json", "tsconfig.json", "scripts/build.mjs"].map(str::to_owned).to_vec();
    files_below(&root, &root.join("src"), &mut sources);
    sources.sort_unstable();
    let line = |path: &String| format!("{}  {path}\n", sha256(&fs::read(root.join(path)).unwrap()));
    let lines: String = sources.iter().map(line).collect();
    let advice = "dashboard/dist is not of these sources: run `npm ci && npm run build` in dashboard/";
    assert_eq!(manifest["sources_sha256"], sha256(lines.as_bytes()), "{advice}");
    let files = manifest["files"].as_object().unwrap();
    assert_eq!(files.keys().collect::<Vec<_>>(), ["app.css", "app.js", "icon.svg", "index.html"]);
    for (name, said) in files {
        let bytes = fs::read(root.join("dist").join(name)).unwrap();
        assert_eq!(*said, json!({"bytes": bytes.len(), "sha256": sha256(&bytes)}), "{name}: {advice}");
        let gzip = fs::read(root.join("dist").join(format!("{name}.gz"))).unwrap();
        let length = u32::from_le_bytes(*gzip.last_chunk().unwrap());
        assert_eq!(length as usize, bytes.len(), "{name}.gz holds something else: {advice}");
    }
}

#[tokio::test]
async fn a_browser_gets_a_page_that_loads_nothing_from_elsewhere() {
    let home = Home::protected().await;
    let page = home.get("/").await;
    assert_eq!((page.status.as_u16(), page.content_type()), (200, "text/html; charset=utf-8"));
    let policy = header(&page.headers, "content-security-policy");
    for rule in ["default-src 'self'", "frame-ancestors 'none'", "object-src 'none'", "base-uri 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
    assert_eq!(header(&page.headers, "x-frame-options"), "DENY");
    for (name, content_type) in [
        ("app.js", "text/javascript; charset=utf-8"),
        ("app.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ] {
        assert!(page.text().contains(&format!("\"dashboard/{name}\"")), "{name}");
        let file = home.get(&format!("/dashboard/{name}")).await;
        assert_eq!((file.status, file.content_type()), (StatusCode::OK, content_type), "{name}");
        assert_eq!(header(&file.headers, "x-content-type-options"), "nosniff");
        assert_eq!(file.body, fs::read(folder().join("dist").join(name)).unwrap());
    }
    home.get("/dashboard/manifest.json").await.problem(404, "bad_request");
    home.get("/dashboard/..%2f..%2fCargo.toml").await.problem(404, "bad_request");
}

#[tokio::test]
async fn files_come_compressed_and_only_when_they_changed() {
    let home = Home::open().await;
    let ask = |name: &str, value: &str| Ask::new(Method::GET, "/dashboard/app.js").header(name, value);
    let packed = ask("accept-encoding", "br;q=1.0, gzip, deflate").send(&home).await;
    assert_eq!(header(&packed.headers, "content-encoding"), "gzip");
    assert_eq!(packed.body, fs::read(folder().join("dist/app.js.gz")).unwrap());
    assert_eq!(header(&packed.headers, "vary"), "accept-encoding");
    for refusing in ["gzip;q=0", "identity", "br"] {
        let plain = ask("accept-encoding", refusing).send(&home).await;
        assert_eq!(header(&plain.headers, "content-encoding"), "", "{refusing}");
    }
    let tag = header(&packed.headers, "etag").to_owned();
    let again = ask("if-none-match", &format!("W/\"other\", {tag}")).send(&home).await;
    assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0));
    assert_eq!(ask("if-none-match", "\"other\"").send(&home).await.status, StatusCode::OK);
}
