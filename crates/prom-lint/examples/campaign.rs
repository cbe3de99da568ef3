//! Runs the linter over large real trees, beside `eslint` and `oxlint` on the same files. Needs a network once, npm, pip and
//! cargo; nothing else calls it.
//!
//!     cargo run --release -p prom-lint --example campaign
//!     cargo run --release -p prom-lint --example campaign -- DIR      trees elsewhere than in target/campaign

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, reason = "a tool for developers")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use prom_lint::{LintJob, LintSettings, Wrapper};

/// Clients of other buses, whose `publish(` and `subscribe(` are not ours, and large packages with sources.
const NPM: [&str; 35] = [
    "redis",
    "ioredis",
    "mqtt",
    "nats",
    "kafkajs",
    "amqplib",
    "ably",
    "pusher-js",
    "pubsub-js",
    "mitt",
    "socket.io",
    "@google-cloud/pubsub",
    "@aws-sdk/client-sns",
    "@nestjs/microservices",
    "@nestjs/core",
    "rxjs",
    "effect",
    "fp-ts",
    "zod",
    "typeorm",
    "three",
    "date-fns",
    "lodash-es",
    "@mui/material",
    "@angular/core",
    "@tanstack/query-core",
    "graphql",
    "googleapis",
    "typescript",
    "@types/node",
    "@types/three",
    "antd",
    "@fluentui/react",
    "firebase",
    "playwright-core",
];
const PYPI: [&str; 16] = [
    "redis",
    "paho-mqtt",
    "kafka-python",
    "nats-py",
    "pika",
    "celery",
    "kombu",
    "google-cloud-pubsub",
    "django",
    "sqlalchemy",
    "sympy",
    "pandas",
    "botocore",
    "twisted",
    "scikit-learn",
    "ansible-core",
];
const CRATES: [&str; 14] = [
    "redis",
    "async-nats",
    "rumqttc",
    "lapin",
    "tokio",
    "axum",
    "bevy_ecs",
    "sqlx",
    "diesel",
    "syn",
    "aws-sdk-sns",
    "wgpu",
    "regex",
    "nalgebra",
];
const ESLINT: [&str; 3] = ["eslint@9", "@typescript-eslint/parser@8", "typescript@5"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [verb, folder, cache] if verb == "--one" => one(Path::new(folder), Path::new(cache)),
        _ => campaign(arguments.first().map_or("target/campaign", String::as_str)),
    }
}

fn campaign(folder: &str) {
    std::fs::create_dir_all(folder).unwrap();
    let folder = Path::new(folder).canonicalize().unwrap();
    fetch(&folder);
    for tree in ["npm", "python", "rust"] {
        let path = folder.join("tree").join(tree);
        println!("\n{tree}");
        let cache = folder.join(format!("cache-{tree}"));
        let _ = std::fs::remove_dir_all(&cache);
        report("prom lint, cold", &path, &cache);
        for _ in 0..3 {
            report("prom lint, warm", &path, &cache);
        }
    }
    peers(&folder);
}

/// In a process of its own, so that its memory is its own.
fn report(name: &str, tree: &Path, cache: &Path) {
    let output = Command::new(std::env::current_exe().unwrap())
        .arg("--one")
        .args([tree, cache])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{name} crashed");
    println!("  {name}: {}", String::from_utf8_lossy(&output.stdout).trim());
}

fn one(tree: &Path, cache: &Path) {
    let mut settings = LintSettings::new(tree);
    // `PARSE_ALL=1`: a word that is in every file, so that every file is parsed.
    if std::env::var_os("PARSE_ALL").is_some() {
        settings.wrappers.push(Wrapper {
            name: "e".to_owned(),
            module: Some("nowhere".to_owned()),
            action: prom_lint::CallAction::Publish,
            topic: 0,
            payload: None,
            headers: None,
            group: None,
        });
    }
    let begin = Instant::now();
    let job = LintJob {
        settings: &settings,
        paths: vec![tree.to_path_buf()],
        history: None,
        hub: None,
        cache: Some(cache.to_path_buf()),
    };
    let report = prom_lint::run(&job).unwrap();
    let took = begin.elapsed();
    let facts = &report.statistics;
    println!(
        "{:.2} s, {} files, {:.0} MiB, {} with words, {} parsed, {} cached, ours {}, foreign {}, unknown {}, findings {} (parse errors {}), peak {} MiB",
        took.as_secs_f64(),
        facts.files,
        facts.bytes as f64 / 1048576.0,
        facts.with_words,
        facts.parsed,
        facts.cached,
        facts.calls.ours,
        facts.calls.foreign,
        facts.calls.unknown,
        report.findings.len(),
        report.findings.iter().filter(|finding| finding.rule.id() == "parse-error").count(),
        peak_mebibytes(),
    );
    for finding in report.findings.iter().filter(|finding| finding.rule.id() != "parse-error").take(20) {
        eprintln!("    {}: {} {}", finding.place.path.display(), finding.rule, finding.message);
    }
}

fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn fetch(folder: &Path) {
    let tree = folder.join("tree");
    std::fs::create_dir_all(&tree).unwrap();
    if !tree.join("npm").exists() {
        let work = folder.join("npm-work");
        std::fs::create_dir_all(&work).unwrap();
        let flags =
            ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps", "--loglevel=error"];
        run(Command::new("npm").args(flags).args(NPM).arg("--prefix").arg(&work));
        std::fs::rename(work.join("node_modules"), tree.join("npm")).unwrap();
    }
    if !tree.join("python").exists() {
        let flags = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target"];
        run(Command::new("python3").args(flags).arg(tree.join("python")).args(PYPI));
    }
    if !tree.join("rust").exists() {
        let work = folder.join("rust-work");
        std::fs::create_dir_all(work.join("src")).unwrap();
        std::fs::write(work.join("src/lib.rs"), "").unwrap();
        let dependencies: String = CRATES.iter().map(|name| format!("{name} = \"*\"\n")).collect();
        let manifest = format!(
            "[package]\nname = \"trees\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n{dependencies}"
        );
        std::fs::write(work.join("Cargo.toml"), manifest).unwrap();
        run(Command::new("cargo").args(["vendor", "--quiet"]).arg(tree.join("rust")).current_dir(&work));
    }
    let tools = folder.join("tools");
    if !tools.join("node_modules").exists() {
        std::fs::create_dir_all(&tools).unwrap();
        let flags = ["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"];
        run(Command::new("npm").args(flags).arg(&tools).args(ESLINT).arg("oxlint"));
    }
}

/// The same files of the npm tree for both, with one trivial rule.
fn peers(folder: &Path) {
    let tools = folder.join("tools");
    let config = tools.join("eslint.config.mjs");
    let text = "import parser from \"@typescript-eslint/parser\";\nexport default [{ files: [\"**/*.{js,jsx,mjs,cjs,ts,tsx,mts,cts}\"], \
        ignores: [], linterOptions: { reportUnusedDisableDirectives: \"off\" }, languageOptions: { parser }, \
        rules: { \"no-debugger\": \"error\" } }];\n";
    std::fs::write(&config, text).unwrap();
    let tree = folder.join("tree/npm");
    println!("\npeers, on the npm tree");
    let mut oxlint = Command::new(tools.join("node_modules/.bin/oxlint"));
    oxlint.args(["-A", "all", "-D", "no-debugger", "--no-ignore", "--silent"]).arg(&tree);
    println!("  oxlint, no-debugger: {}", timed(&mut oxlint));
    let mut eslint = Command::new("node");
    eslint.args(["--max-old-space-size=3500"]).arg(tools.join("node_modules/eslint/bin/eslint.js"));
    eslint
        .args(["--no-inline-config", "--quiet", "--no-warn-ignored", "-f", "json", "-o"])
        .arg(folder.join("eslint.json"));
    eslint.arg("-c").arg(&config).arg(&tree).current_dir(&tree);
    println!("  eslint, no-debugger: {}", timed(&mut eslint));
}

fn timed(command: &mut Command) -> String {
    let begin = Instant::now();
    let output = command.output().unwrap();
    let took: Duration = begin.elapsed();
    let text = String::from_utf8_lossy(&output.stdout);
    let last =
        text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().chars().take(120).collect::<String>();
    format!("{:.2} s, {} {last}", took.as_secs_f64(), output.status)
}

fn run(command: &mut Command) {
    eprintln!("{command:?}");
    assert!(command.status().unwrap().success(), "{command:?}");
}
