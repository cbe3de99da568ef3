//! `prom lint`: topics, headers, groups and payloads in source code, and the schemas beside it.

mod hub_facts;
mod settings;

use std::path::{Path, PathBuf};

use clap::Args;
use prom_lint::baseline::Baseline;
use prom_lint::output::{Colour, LintFormat, SourceTexts, render, statistics};
use prom_lint::{
    Finding, HistoryError, HistoryPath, LintJob, LintReport, LintSettings, LiveHub, RuleId, SchemaHistory, Severity,
    fix, page,
};
use serde_json::json;

use crate::cli::Context;
use crate::config::parse_one_of;
use crate::exit::{CommandResult, Failure};
use crate::output::{Align, Style, Table, counted, note};

/// Check topics, headers, groups and payloads in source code, and the schemas of the project
#[derive(Debug, Args)]
#[command(after_help = "\
Reads TypeScript, JavaScript, Rust and Python; prom.toml; and the folder of schemas. A call counts if its receiver \
is shown to be a client of a hub, by import, type or [lint] in prom.toml. Exit code 1 if there are errors; 0 if \
there are only warnings.

Examples:
  prom lint
  prom lint src --format concise
  prom lint --explain topic-unregistered
  prom lint --against origin/main --format github
  prom lint --hub http://127.0.0.1:8090
  prom lint --baseline lint-baseline.json --write-baseline
  prom lint --fix")]
pub struct Lint {
    /// Files and folders; the folder of the configuration if there are none
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The configuration; prom.toml here or in a folder above, if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of schemas; else that of `[schemas]`, else `schemas` beside the configuration
    #[arg(long, value_name = "FOLDER")]
    schemas: Option<PathBuf>,
    /// human, concise, json, sarif, github or agent
    #[arg(long, value_name = "FORMAT", default_value = "human", value_parser = format)]
    format: LintFormat,
    /// Compare schemas with a git revision, and check only the differences
    #[arg(long, value_name = "REF")]
    against: Option<String>,
    /// Compare with a live hub: its topics and its schemas
    #[arg(long, value_name = "URL")]
    hub: Option<String>,
    /// Explain a rule, or list all rules
    #[arg(long, value_name = "RULE", num_args = 0..=1, default_missing_value = "", conflicts_with = "paths")]
    explain: Option<String>,
    /// Print counts by rule and number of files, instead of findings
    #[arg(long)]
    statistics: bool,
    /// File of accepted findings, counted by file and rule
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the current findings to the baseline
    #[arg(long, requires = "baseline")]
    write_baseline: bool,
    /// Lower the counts of the baseline to the current findings
    #[arg(long, requires = "baseline", conflicts_with = "write_baseline")]
    prune: bool,
    /// Apply safe fixes
    #[arg(long)]
    fix: bool,
    /// Do not use or write the cache of parsed files
    #[arg(long)]
    no_cache: bool,
}

/// Edits can make room for others; more rounds than this would go in a circle.
const ROUNDS_OF_FIXES: usize = 4;

fn format(text: &str) -> Result<LintFormat, String> {
    parse_one_of(text, &LintFormat::WORDS)
}

impl Lint {
    pub async fn run(self, context: &Context) -> CommandResult {
        if let Some(rule) = &self.explain {
            return explain(context, rule);
        }
        let settings = settings::read(self.config.as_deref(), self.schemas.as_deref())?;
        let hub = match &self.hub {
            Some(url) => Some(hub_facts::read(&context.hub_at(url)?).await?),
            None => None,
        };
        // Reading and parsing hold up the thread that they run on.
        let format = if context.output.is_for_machines() { LintFormat::Json } else { self.format };
        let style = context.output.style;
        let outcome = tokio::task::spawn_blocking(move || self.lint(&settings, hub.as_ref(), format, style)).await;
        let (text, verdict) = outcome.map_err(|error| Failure::no(format!("the linter failed: {error}")))??;
        context.output.text(&text)?;
        verdict
    }

    /// What is printed, and how it ends.
    fn lint(
        &self,
        settings: &LintSettings,
        hub: Option<&LiveHub>,
        format: LintFormat,
        style: Style,
    ) -> Result<(String, CommandResult), Failure> {
        let history = match &self.against {
            Some(revision) => Some(read_history(settings, revision, self.schemas.as_deref())?),
            None => None,
        };
        let paths = self.paths(settings)?;
        let cache = (!self.no_cache).then(|| settings.root.join(CACHE));
        let job = LintJob { settings, paths, history: history.as_ref(), hub, cache };
        let mut report = run(&job)?;
        if self.fix {
            report = self.fixed(&job, report)?;
        }
        let mut texts = SourceTexts::new(&settings.root);
        if let Some(file) = &self.baseline {
            report.findings = self.judge_by(file, &job, report.findings, &texts)?;
        }
        report.notes.iter().for_each(note);
        let colour = if style == Style::Coloured { Colour::On } else { Colour::Off };
        let text = match self.statistics && format != LintFormat::Json {
            true => statistics(&report),
            false => render(&report, &mut texts, format, colour),
        };
        let errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        let verdict = if errors == 0 { Ok(()) } else { Err(Failure::Reported) };
        Ok((text, verdict))
    }

    fn paths(&self, settings: &LintSettings) -> Result<Vec<PathBuf>, Failure> {
        if self.paths.is_empty() {
            return Ok(vec![settings.root.clone()]);
        }
        let real = |path: &PathBuf| {
            path.canonicalize().map_err(|error| Failure::usage(format!("{} cannot be read: {error}", path.display())))
        };
        self.paths.iter().map(real).collect()
    }

    fn fixed(&self, job: &LintJob<'_>, mut report: LintReport) -> Result<LintReport, Failure> {
        let (mut edits, mut files) = (0, 0);
        for _ in 0..ROUNDS_OF_FIXES {
            let fixed =
                fix::apply(&report.findings, &job.settings.root).map_err(|error| Failure::no(error.to_string()))?;
            if fixed.edits == 0 {
                break;
            }
            edits += fixed.edits;
            files = files.max(fixed.files);
            report = run(job)?;
        }
        let (edits, files) = (counted(edits, "place"), counted(files, "file"));
        note(format!("fixed: {edits} in {files}"));
        Ok(report)
    }

    /// What the baseline does not let through.
    fn judge_by(
        &self,
        file: &Path,
        job: &LintJob<'_>,
        findings: Vec<Finding>,
        texts: &SourceTexts,
    ) -> Result<Vec<Finding>, Failure> {
        let judged = |file: &str, rule: &str| job.judges(file, rule);
        let shown = |finding: &Finding| texts.shown(&finding.place.path);
        let write = |baseline: &Baseline| {
            std::fs::write(file, baseline.to_text())
                .map_err(|error| Failure::no(format!("{} cannot be written: {error}", file.display())))
        };
        if self.write_baseline {
            let mut baseline = Baseline::of(&findings, shown);
            if file.exists() {
                baseline = baseline.with_rest_of(read_baseline(file)?, judged);
            }
            write(&baseline)?;
            note(format!("{}: lets {} through", file.display(), counted(findings.len() as u64, "finding")));
            return Ok(Vec::new());
        }
        let baseline = read_baseline(file)?;
        let compared = baseline.compare(findings, shown, judged);
        let fewer: u64 = compared.stale.iter().map(|(_, _, fewer)| fewer).sum();
        match (fewer, self.prune) {
            (0, _) => {}
            (fewer, true) => {
                write(&baseline.pruned(&compared.stale))?;
                note(format!("{}: {} fewer are let through", file.display(), counted(fewer, "finding")));
            }
            (fewer, false) => {
                let gone = counted(fewer, "finding");
                note(format!("{}: no longer found: {gone}; --prune lowers the counts", file.display()));
            }
        }
        Ok(compared.left)
    }
}

/// Below the folder of the configuration.
const CACHE: &str = ".prom-cache/lint";

fn run(job: &LintJob<'_>) -> Result<LintReport, Failure> {
    prom_lint::run(job).map_err(|error| Failure::usage(format!("[lint] {error}")))
}

fn read_baseline(file: &Path) -> Result<Baseline, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(format!("{} cannot be read: {error}", file.display()))
            .fix("--write-baseline creates it from the current findings")
    })?;
    Baseline::parse(&text).map_err(|reason| {
        Failure::usage(format!("{} is not a baseline: {reason}", file.display()))
            .fix("name another file, or remove this one")
    })
}

/// `named` is the folder of `--schemas`, which counts for both revisions.
fn read_history(settings: &LintSettings, revision: &str, named: Option<&Path>) -> Result<SchemaHistory, Failure> {
    let refused = |error: HistoryError| {
        let fix = match error {
            HistoryError::NoGit(_) => "install git, or leave --against out",
            HistoryError::Refused(_) => {
                "name a branch, a tag or a commit of this repository; a shallow clone lacks most (fetch-depth: 0 gets all)"
            }
        };
        Failure::usage(format!("--against {revision}: {error}")).fix(fix)
    };
    let before = settings_then(settings, revision).map_err(refused)?;
    let folder = |settings: &LintSettings| {
        settings.root.join(settings.schema_folder.clone().unwrap_or_else(|| "schemas".into()))
    };
    let now = folder(settings);
    let then = if named.is_some() { now.clone() } else { folder(&before) };
    let mut paths = vec![HistoryPath { then, now }];
    for topic in &settings.declared {
        let Some(file) = &topic.schema else { continue };
        let then = before.declared.iter().find(|before| before.name == topic.name);
        let then = then.and_then(|before| before.schema.as_ref()).unwrap_or(file);
        paths.push(HistoryPath { then: settings.root.join(then), now: settings.root.join(file) });
    }
    let mut history = SchemaHistory::read(revision, &paths).map_err(refused)?;
    history.defaults = before.schemas;
    history.steps = before.steps;
    Ok(history)
}

/// What the configuration said in a revision; what it says now where that cannot be read.
fn settings_then(settings: &LintSettings, revision: &str) -> Result<LintSettings, HistoryError> {
    let none = || LintSettings::new(settings.root.clone());
    let Some(file) = &settings.config_file else { return Ok(none()) };
    let same = HistoryPath { then: file.clone(), now: file.clone() };
    let history = SchemaHistory::read(revision, &[same])?;
    let Some(text) = history.text(file) else { return Ok(none()) };
    Ok(settings::of_text(text, &settings.root).unwrap_or_else(|problems| {
        note(format!("prom.toml of {revision} cannot be read; the current one is used: {problems}"));
        settings.clone()
    }))
}

fn explain(context: &Context, rule: &str) -> CommandResult {
    if rule.is_empty() {
        return list(context);
    }
    let known: Vec<&str> = RuleId::ALL.iter().map(|rule| rule.id()).collect();
    let found = RuleId::named(rule).ok_or_else(|| {
        Failure::usage(format!("there is no rule {rule:?}")).fix(crate::config::suggestion(rule, &known))
    })?;
    if context.output.is_for_machines() {
        return context.output.json(&for_machines(found));
    }
    context.output.text(&page(found))
}

fn for_machines(rule: RuleId) -> serde_json::Value {
    let text = rule.text();
    json!({"rule": text.id, "title": text.title, "severity": text.severity, "fixable": text.is_fixable,
        "explanation": text.explanation, "bad": text.bad.code, "good": text.good.code, "fix": text.fix})
}

fn list(context: &Context) -> CommandResult {
    if context.output.is_for_machines() {
        let rules: Vec<serde_json::Value> = RuleId::ALL.iter().map(|rule| for_machines(*rule)).collect();
        return context.output.json(&json!({"rules": rules}));
    }
    let mut table = Table::new([("RULE", Align::Left), ("SEVERITY", Align::Left), ("WHAT IS WRONG", Align::Left)]);
    for rule in RuleId::ALL {
        let text = rule.text();
        table.row([text.id.to_owned(), text.severity.as_str().to_owned(), text.title.to_owned()]);
    }
    context.output.table(&table)
}
