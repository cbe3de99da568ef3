//! One run: walk, look for words, read what has them, resolve, ask the rules, take out what remarks ignore.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use aho_corasick::AhoCorasick;
use serde::Serialize;

use crate::finding::Finding;
use crate::front::SourceLanguage;
use crate::project::{LiveHub, ProjectSchemas, SchemaHistory};
use crate::record::{Expr, ExprKind, RecordCache};
use crate::resolve::{KnownText, Meaning, NameResolver, SourceModule, SourceTree};
use crate::rules::{self, Asked, RuleContext, RuleId, SiteFacts};
use crate::settings::LintSettings;
use crate::sites::{self, CallCounts, Site};
use crate::walk::{self, WalkError};
use crate::{limits, remarks};

/// What a run is asked to do.
pub struct LintJob<'j> {
    pub settings: &'j LintSettings,
    /// Absolute paths of files and folders.
    pub paths: Vec<PathBuf>,
    pub history: Option<&'j SchemaHistory>,
    pub hub: Option<&'j LiveHub>,
    /// Where records are kept between runs.
    pub cache: Option<PathBuf>,
}

impl LintJob<'_> {
    /// Whether this run finds what a file, as it is shown, has against a rule: a run over a part of the project, without a
    /// hub or against a revision leaves out some.
    pub fn judges(&self, file: &str, rule: &str) -> bool {
        let root = &self.settings.root;
        let is_whole = walk::is_whole(root, &self.paths);
        let covers = is_whole || self.paths.iter().any(|path| root.join(file).starts_with(path));
        let Some(rule) = RuleId::named(rule) else { return covers };
        let is_asked = match rule {
            RuleId::SchemaIncompatible => self.history.is_none(),
            RuleId::SchemaUnused => is_whole,
            RuleId::TopicUnmentioned => is_whole && self.hub.is_some(),
            rule => rule.text().asked != Asked::WithHub || self.hub.is_some(),
        };
        // Schemas are looked at whatever the paths are.
        let is_of_schemas = matches!(
            rule,
            RuleId::SchemaIncompatible | RuleId::SchemaUnreadable | RuleId::UpcasterGap | RuleId::SchemaDrift
        );
        is_asked && (covers || is_of_schemas)
    }
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct LintStatistics {
    /// Source files below the paths.
    pub files: u64,
    pub bytes: u64,
    /// Of those, files with a word that a call would have.
    pub with_words: u64,
    /// Files that were parsed, imported ones included.
    pub parsed: u64,
    /// Files whose record came from the cache.
    pub cached: u64,
    pub calls: CallCounts,
    /// Topics and patterns that the code names.
    pub topics: u64,
    /// Findings that remarks hide.
    pub ignored: u64,
}

/// What a run found.
pub struct LintReport {
    /// By file and place.
    pub findings: Vec<Finding>,
    pub statistics: LintStatistics,
    /// Topics and patterns that the code names.
    pub topics: BTreeSet<String>,
    /// What the run could not look at, in words.
    pub notes: Vec<String>,
}

/// Runs all rules. Only a wrong pattern in the configuration is an error.
pub fn run(job: &LintJob<'_>) -> Result<LintReport, WalkError> {
    let settings = job.settings;
    let walked = walk::walk(settings, &job.paths)?;
    let names = settings.call_names();
    let cache = RecordCache::open(job.cache.as_deref(), names.0.iter());
    let mut notes: Vec<String> = walked.unreadable.into_iter().map(|(_, reason)| reason).collect();
    let schemas = ProjectSchemas::read(settings);
    let context = RuleContext {
        settings,
        schemas: &schemas,
        history: job.history,
        hub: job.hub,
        is_whole_project: walk::is_whole(&settings.root, &job.paths),
        mentioned: Mutex::default(),
        findings: Mutex::default(),
    };
    let totals = Totals::default();
    let mut modules = {
        let tree = SourceTree::new(settings, &cache, &walked.manifests);
        let words = Words::new(settings, &schemas, job.hub);
        let reading = Reading { tree: &tree, words: &words, context: &context, totals: &totals };
        let modules: Mutex<Vec<Arc<SourceModule>>> = Mutex::default();
        in_parallel(&walked.sources, |(path, language)| {
            if let Some(module) = reading.read(path, *language) {
                modules.lock().unwrap_or_else(PoisonError::into_inner).push(module);
            }
        });
        let modules = modules.into_inner().unwrap_or_else(PoisonError::into_inner);
        in_parallel(&modules, |module| check_module(&context, &tree, module, &totals));
        modules
    };
    rules::check_project(&context);
    modules.sort_by(|left, right| left.path.cmp(&right.path));
    let findings = context.findings.into_inner().unwrap_or_else(PoisonError::into_inner);
    let topics = context.mentioned.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (findings, ignored) = remarks::apply(settings, findings, &modules, &|asked| match asked {
        Asked::Always => true,
        Asked::WithSchemas => schemas.is_in_use(),
        Asked::WithHub => job.hub.is_some(),
    });
    notes.append(&mut totals.notes.lock().unwrap_or_else(PoisonError::into_inner));
    let (cached, parsed) = cache.counts();
    if let Err(error) = cache.save() {
        notes.push(format!("the cache could not be written: {error}"));
    }
    let statistics = LintStatistics {
        files: walked.sources.len() as u64,
        bytes: totals.bytes.load(Ordering::Relaxed),
        with_words: modules.len() as u64,
        parsed,
        cached,
        calls: totals.calls(),
        topics: topics.len() as u64,
        ignored,
    };
    Ok(LintReport { findings: in_order(findings), statistics, topics, notes })
}

/// By file and place, each once.
fn in_order(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by(|left, right| {
        (&left.place, left.rule, &left.message).cmp(&(&right.place, right.rule, &right.message))
    });
    findings.dedup();
    findings
}

/// What threads count together.
#[derive(Default)]
struct Totals {
    bytes: AtomicU64,
    ours: AtomicU64,
    foreign: AtomicU64,
    unknown: AtomicU64,
    notes: Mutex<Vec<String>>,
}

impl Totals {
    fn add(&self, counts: CallCounts) {
        self.ours.fetch_add(counts.ours, Ordering::Relaxed);
        self.foreign.fetch_add(counts.foreign, Ordering::Relaxed);
        self.unknown.fetch_add(counts.unknown, Ordering::Relaxed);
    }

    fn calls(&self) -> CallCounts {
        CallCounts {
            ours: self.ours.load(Ordering::Relaxed),
            foreign: self.foreign.load(Ordering::Relaxed),
            unknown: self.unknown.load(Ordering::Relaxed),
        }
    }

    fn note(&self, note: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }
}

/// What a text is searched for before it is parsed: words that a call would have, and names of topics.
struct Words {
    search: Option<AhoCorasick>,
    /// Words of calls come first.
    calls: usize,
    topics: Vec<String>,
}

impl Words {
    fn new(settings: &LintSettings, schemas: &ProjectSchemas, hub: Option<&LiveHub>) -> Self {
        let own = [
            "publish",
            "subscribe",
            "tail(",
            "tail<",
            "events(",
            "events<",
            "deliveries(",
            "deliveries<",
            crate::sites::NEW_EVENT,
            "prom-ignore",
        ];
        let mut words: Vec<String> = own.into_iter().map(str::to_owned).collect();
        words.extend(settings.wrappers.iter().map(|wrapper| wrapper.last_name().to_owned()));
        let calls = words.len();
        let mut topics: BTreeMap<String, ()> = schemas.topics.keys().map(|topic| (topic.clone(), ())).collect();
        topics.extend(hub.into_iter().flat_map(|hub| hub.topics.iter().map(|topic| (topic.clone(), ()))));
        let topics: Vec<String> = topics.into_keys().collect();
        words.extend(topics.iter().cloned());
        // Only a set of words beyond all memory fails, and then everything is parsed.
        let search = AhoCorasick::new(&words).ok();
        Self { search, calls, topics }
    }

    /// Whether a call may be in the text; topics in quotes are told to `mention`.
    fn look(&self, text: &str, mut mention: impl FnMut(&str)) -> bool {
        let Some(search) = &self.search else { return true };
        let bytes = text.as_bytes();
        let mut has_call = false;
        for found in search.find_overlapping_iter(text) {
            let pattern = found.pattern().as_usize();
            if pattern < self.calls {
                has_call = true;
                if self.topics.is_empty() {
                    break;
                }
                continue;
            }
            let quote = |at: Option<&u8>| at.is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`'));
            let before = found.start().checked_sub(1).and_then(|at| bytes.get(at));
            if quote(before) && quote(bytes.get(found.end())) {
                mention(&self.topics[pattern - self.calls]);
            }
        }
        has_call
    }
}

struct Reading<'r> {
    tree: &'r SourceTree<'r>,
    words: &'r Words,
    context: &'r RuleContext<'r>,
    totals: &'r Totals,
}

impl Reading<'_> {
    /// The module, if calls may be in it.
    fn read(&self, path: &std::path::Path, language: SourceLanguage) -> Option<Arc<SourceModule>> {
        let shown = || self.context.shown(path);
        match std::fs::metadata(path) {
            Ok(facts) if facts.len() > limits::FILE_BYTES => {
                self.totals.note(format!("{}: left out, it is larger than 8 MiB", shown()));
                return None;
            }
            _ => {}
        }
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.totals.note(format!("{}: left out, it cannot be read: {error}", shown()));
                return None;
            }
        };
        self.totals.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => {
                self.totals.note(format!("{}: left out, it is not UTF-8", shown()));
                return None;
            }
        };
        if !self.words.look(&text, |topic| self.context.mention(topic)) {
            return None;
        }
        self.tree.module_of_text(path, language, &text)
    }
}

fn check_module(context: &RuleContext<'_>, tree: &SourceTree<'_>, module: &Arc<SourceModule>, totals: &Totals) {
    rules::check_readable(context, module);
    let (sites, counts) = sites::find(tree, module);
    totals.add(counts);
    for site in sites {
        let facts = facts_of(tree, site);
        for topic in facts.known_topics() {
            context.mention(topic.name);
        }
        rules::check_site(context, &facts);
    }
}

/// Everything about a site that rules ask.
fn facts_of(tree: &SourceTree<'_>, site: Site) -> SiteFacts {
    let module = site.module.clone();
    let fresh = || NameResolver::new(tree);
    let topics = site.topics.iter().map(|topic| fresh().texts(&module, topic)).collect();
    let topic_spans = site.topics.iter().map(|topic| topic.span).collect();
    let groups = site.group.as_ref().map(|group| fresh().texts(&module, group));
    let payload = site.payload.as_ref().and_then(|payload| fresh().payload(&module, payload));
    let mut headers = Vec::new();
    let mut version = None;
    for name in &site.header_names {
        headers.extend(fresh().texts(&module, name).known);
    }
    if let Some(expr) = &site.headers {
        add_headers(&fresh(), &module, expr, 0, &mut (&mut headers, &mut version));
    }
    SiteFacts { site, topics, topic_spans, groups, headers, payload, version }
}

/// The names of headers in an object, and in those that it spreads, with the version of the schema that they name.
fn add_headers(
    resolver: &NameResolver<'_>,
    module: &Arc<SourceModule>,
    expr: &Expr,
    depth: usize,
    into: &mut (&mut Vec<KnownText>, &mut Option<u32>),
) {
    if depth > limits::SPREADS {
        return;
    }
    resolver.each(module, expr, 0, &mut |module, meaning| {
        let Meaning::Literal(literal) = meaning else { return };
        let ExprKind::Object(properties) = &literal.kind else { return };
        for property in properties {
            let Some(key) = &property.key else {
                add_headers(resolver, module, &property.value, depth + 1, into);
                continue;
            };
            let parts = vec![Some(key.clone())];
            let (path, span) = (module.path.clone(), property.span);
            into.0.push(KnownText { parts, path, span, is_literal: true });
            if key == "x-schema-version" {
                let texts = NameResolver::new(resolver.tree).texts(module, &property.value);
                *into.1 = texts.known.first().and_then(KnownText::whole).and_then(|text| text.parse().ok());
            }
        }
    });
}

/// Does the work on all processors, on stacks that bear deep code.
fn in_parallel<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..walk::threads().min(items.len()) {
            let thread = std::thread::Builder::new().name("lint".to_owned()).stack_size(limits::STACK_BYTES);
            if thread.spawn_scoped(scope, take).is_err() {
                // No thread to be had: what is left is done here.
                take();
            }
        }
    });
}
