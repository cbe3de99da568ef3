//! Many small cases with the findings that they expect: none missing, none extra.
//!
//! A file of `tests/corpus` holds cases, each after a line `=== name`. A case is one file, or several after lines
//! `--- path`; `prom.toml`-like settings stand after `--- settings`. A line that is to be reported ends in a comment with
//! `~ rule`, or `~^ rule` on the line below; a rule may be named twice. Files without comments name what they expect in
//! `--- expect`: `path:line rule`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on stops")]

use std::path::{Path, PathBuf};

use prom_lint::{
    CallAction, ClientModule, DeclaredStep, DeclaredTopicFacts, LintJob, LintReport, LintSettings, LiveHub, RuleId,
    Severity, Wrapper,
};

struct Case {
    name: String,
    files: Vec<(String, String)>,
}

fn cases(group: &str, default_file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(group);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("=== ") {
            cases.push(Case { name: name.to_owned(), files: Vec::new() });
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        if let Some(path) = line.strip_prefix("--- ") {
            case.files.push((path.to_owned(), String::new()));
            continue;
        }
        if case.files.is_empty() {
            case.files.push((default_file.to_owned(), String::new()));
        }
        let file = &mut case.files.last_mut().unwrap().1;
        file.push_str(line);
        file.push('\n');
    }
    cases
}

/// `rule ID WORD`, `allow ID PATTERN`, `wrapper NAME key=value…`, `client MODULE NAME`, `topic NAME [FILE]`,
/// `upcast TOPIC FROM JQ`, `exclude PATTERN`, `hub TOPIC`, `registered TOPIC VERSION SCHEMA`, `compat WORD`.
fn settings(text: &str, root: &Path, hub: &mut Option<LiveHub>) -> LintSettings {
    let mut settings = LintSettings::new(root);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let rule = |id: &str| RuleId::named(id).unwrap_or_else(|| panic!("no rule {id}"));
        match words[0] {
            "rule" => {
                let severity = Severity::WORDS.into_iter().find(|(word, _)| *word == words[2]).unwrap().1;
                settings.severities.insert(rule(words[1]), severity);
            }
            "allow" => settings.allow.entry(rule(words[1])).or_default().push(words[2].to_owned()),
            "client" => {
                settings.clients.push(ClientModule { module: words[1].to_owned(), names: vec![words[2].to_owned()] })
            }
            "wrapper" => {
                let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(&format!("{key}=")));
                let index = |key: &str| value(key).map(|text| text.parse().unwrap());
                settings.wrappers.push(Wrapper {
                    name: words[1].to_owned(),
                    module: value("module").map(str::to_owned),
                    action: if value("action") == Some("subscribe") {
                        CallAction::Subscribe
                    } else {
                        CallAction::Publish
                    },
                    topic: index("topic").unwrap_or(0),
                    payload: index("payload"),
                    headers: index("headers"),
                    group: index("group"),
                });
            }
            "topic" => settings
                .declared
                .push(DeclaredTopicFacts { name: words[1].to_owned(), schema: words.get(2).map(PathBuf::from) }),
            "upcast" => settings.steps.push(DeclaredStep {
                topic: words[1].to_owned(),
                from: words[2].parse().unwrap(),
                jq: words[3..].join(" "),
            }),
            "exclude" => settings.exclude.push(words[1].to_owned()),
            "compat" => settings.schemas.compat = words[1].parse().unwrap(),
            "hub" => {
                let hub = hub.get_or_insert_with(|| LiveHub { address: "http://hub".to_owned(), ..LiveHub::default() });
                hub.topics.extend(words[1..].iter().map(|topic| (*topic).to_owned()));
            }
            "registered" => {
                let hub = hub.get_or_insert_with(|| LiveHub { address: "http://hub".to_owned(), ..LiveHub::default() });
                let schema = serde_json::from_str(&words[3..].join(" ")).unwrap();
                hub.schemas.entry(words[1].to_owned()).or_default().insert(words[2].parse().unwrap(), schema);
            }
            other => panic!("unknown setting {other}"),
        }
    }
    settings
}

/// What comments in a text expect: line and rule.
fn expected(path: &str, text: &str) -> Vec<String> {
    if path == "expect" {
        return text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    }
    let mut expected = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices('~').filter(|(at, _)| line[..*at].ends_with(['/', '#'])) {
            let rest = &line[at + 1..];
            let above = rest.chars().take_while(|character| *character == '^').count();
            for rule in rest[above..].split_whitespace() {
                expected.push(format!("{path}:{} {rule}", index + 1 - above));
            }
        }
    }
    expected
}

fn lint(case: &Case, folder: &Path) -> LintReport {
    let mut hub = None;
    let mut settings_text = String::new();
    for (path, text) in &case.files {
        match path.as_str() {
            "settings" => settings_text = text.clone(),
            "expect" => {}
            path => {
                let path = folder.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
        }
    }
    let settings = settings(&settings_text, folder, &mut hub);
    let paths = vec![folder.to_path_buf()];
    let job = LintJob { settings: &settings, paths, history: None, hub: hub.as_ref(), cache: None };
    prom_lint::run(&job).unwrap()
}

/// Runs the cases of a file; there are at least so many.
fn check(group: &str, default_file: &str, at_least: usize) {
    let cases = cases(group, default_file);
    let mut wrong = Vec::new();
    for case in &cases {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let report = lint(case, &root);
        let mut texts = prom_lint::output::SourceTexts::new(&root);
        let mut found: Vec<String> = Vec::new();
        for finding in &report.findings {
            let (start, _) = texts.range(&finding.place);
            found.push(format!("{}:{} {}", texts.shown(&finding.place.path), start.line, finding.rule));
        }
        let mut expected: Vec<String> = case.files.iter().flat_map(|(path, text)| expected(path, text)).collect();
        found.sort();
        expected.sort();
        if found != expected {
            let messages: Vec<&str> = report.findings.iter().map(|finding| finding.message.as_str()).collect();
            wrong.push(format!(
                "{group} === {}\n  expected {expected:?}\n  found    {found:?}\n  {messages:?}",
                case.name
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(cases.len() >= at_least, "{group} has {} cases", cases.len());
}

#[test]
fn typescript() {
    check("typescript.txt", "a.ts", 150);
}

#[test]
fn rust() {
    check("rust.txt", "src/lib.rs", 150);
}

#[test]
fn python() {
    check("python.txt", "a.py", 150);
}

#[test]
fn schemas_and_settings() {
    check("project.txt", "a.ts", 150);
}

/// A cache that cannot be read is as good as none, and nobody would notice.
#[test]
fn deep_code_is_kept_for_the_next_run_too() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let head = "import { PromClient } from \"@promethean/client\";\nconst c = new PromClient(\"u\");\n";
    let object = format!("{}1{}", "{a:".repeat(100), "}".repeat(100));
    let chain = ".b(1)".repeat(100);
    let sum = "\"a\" + ".repeat(100);
    let code = format!("{head}export const x = z{chain};\nc.publish(\"a\", {object});\nc.publish({sum}x, {{}});\n");
    std::fs::write(root.join("a.ts"), code).unwrap();
    let settings = LintSettings::new(&root);
    let cached = || {
        let cache = Some(root.join(".cache"));
        let job = LintJob { settings: &settings, paths: vec![root.clone()], history: None, hub: None, cache };
        prom_lint::run(&job).unwrap().statistics.cached
    };
    assert_eq!((cached(), cached()), (0, 1));
}

/// Every case, cut off at many places: no crash, whatever is left.
#[test]
fn files_that_break_off_end_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let mut count = 0;
    for (group, file) in [("typescript.txt", "a.tsx"), ("rust.txt", "src/lib.rs"), ("python.txt", "a.py")] {
        let ending = Path::new(file).extension().unwrap().to_str().unwrap();
        for case in cases(group, file) {
            for (path, text) in case.files.iter().filter(|(path, _)| path.ends_with(ending)) {
                let cuts = (1..8).map(|eighth| text.len() * eighth / 8).filter(|at| text.is_char_boundary(*at));
                for cut in cuts {
                    let to = root.join(format!("{count}")).join(path);
                    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
                    std::fs::write(to, &text[..cut]).unwrap();
                    count += 1;
                }
            }
        }
    }
    let settings = LintSettings::new(&root);
    let job = LintJob { settings: &settings, paths: vec![root.clone()], history: None, hub: None, cache: None };
    let report = prom_lint::run(&job).unwrap();
    assert_eq!(report.statistics.files, count);
    assert!(count > 2000, "{count}");
    assert!(report.findings.iter().any(|finding| finding.rule.id() == "parse-error"));
}

/// Parsers recurse: what is deeper than a stack bears is told, in every language, and the files beside it are read.
#[test]
fn code_that_is_nested_without_end_ends_no_run() {
    const TIMES: usize = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let typescript = "import { PromClient } from \"@promethean/client\";\nconst c = new PromClient(\"h\");\nc.publish(\"A\", {});\nx = a";
    let python = "from promethean import PromClient\nc = PromClient(\"h\")\nc.publish(\"A\", 1)\nx = a";
    let rust = "use prom_client::Client;\nasync fn f(c: &Client) {\nc.publish(\"A\", 1).await;\nlet x = a";
    for (language, head, parts) in [
        ("ts", typescript, &["(", "[", "{a:", ".b", "()", "+1", "?.b", "?b:", " as a<", "{", "`${", "f("][..]),
        ("tsx", typescript, &["<a>", "<a>{x}"]),
        ("py", python, &["(", "[", "{1:", ".b", "()", "+1"]),
        ("rs", rust, &["(", "[", "{", ".b()", "+1", "m!("]),
    ] {
        for (number, part) in parts.iter().enumerate() {
            std::fs::write(root.join(format!("{number}.{language}")), format!("{head}{}", part.repeat(TIMES))).unwrap();
        }
    }
    std::fs::write(root.join("fine.ts"), format!("{typescript};")).unwrap();
    let settings = LintSettings::new(&root);
    let job = LintJob { settings: &settings, paths: vec![root.clone()], history: None, hub: None, cache: None };
    let report = prom_lint::run(&job).unwrap();
    let rules_of = |file: &str| {
        let of = report.findings.iter().filter(|finding| finding.place.path.ends_with(file));
        of.map(|finding| finding.rule.id()).collect::<Vec<_>>()
    };
    assert_eq!(rules_of("fine.ts"), ["topic-name"]);
    assert_eq!((rules_of("0.ts"), rules_of("0.tsx")), (vec!["parse-error"], vec!["parse-error"]));
}
