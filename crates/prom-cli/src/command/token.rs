//! `prom token`: tokens for development, signed with a secret that the hub knows too.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use prom_auth::{Policy, Rule, TokenRequest};
use serde::Deserialize;
use serde_json::json;

use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::secret_file;
use crate::units::parse_duration;

/// Create a token for development and print it
#[derive(Debug, Args)]
#[command(after_help = "\
Without --scope and --policy the token may publish heartbeat.received and subscribe to process.state.

Examples:
  JWT_SECRET=secret prom token --sub shop --scope 'publish:orders.*' --scope 'subscribe:**'
  prom token --secret-file /run/secrets/jwt --sub admin --scope '*' --ttl 8h
  PROM_TOKEN=$(prom token --secret secret --sub ops --scope ops) prom topics")]
pub struct Token {
    /// The secret that the hub has as jwt_secret
    #[arg(long, value_name = "SECRET", env = "JWT_SECRET", hide_env_values = true)]
    secret: Option<String>,
    /// File with that secret; wins over --secret
    #[arg(long, value_name = "FILE", env = "JWT_SECRET_FILE", hide_env_values = true)]
    secret_file: Option<PathBuf>,
    /// Who the token is for
    #[arg(long, value_name = "NAME", default_value = "dev")]
    sub: String,
    /// A right such as publish:orders.*; can be repeated
    #[arg(long = "scope", value_name = "SCOPE", conflicts_with = "policy")]
    scopes: Vec<String>,
    /// A JSON file with the rules of a policy
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// How long the token is valid
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = parse_duration)]
    ttl: Duration,
    /// Audience of the token (`aud`)
    #[arg(long, value_name = "NAME", env = "JWT_AUD", hide_env_values = true)]
    aud: Option<String>,
    /// Issuer of the token (`iss`)
    #[arg(long, value_name = "NAME", env = "JWT_ISS", hide_env_values = true)]
    iss: Option<String>,
}

impl Token {
    pub fn run(self, context: &Context) -> CommandResult {
        let secret = match &self.secret_file {
            Some(file) => secret_file::read(file, "the secret")?,
            None => self.secret.unwrap_or_default(),
        };
        if secret.is_empty() {
            return Err(Failure::usage("there is no secret")
                .fix("give the one of the hub with --secret-file, --secret or JWT_SECRET"));
        }
        if self.ttl.is_zero() {
            return Err(Failure::usage("a token of --ttl 0 is never valid").fix("write such as --ttl 1h"));
        }
        let mut request = TokenRequest { subject: self.sub, lifetime: self.ttl, ..TokenRequest::default() };
        request.audience = self.aud;
        request.issuer = self.iss;
        request.now = SystemTime::now();
        if !self.scopes.is_empty() {
            Policy::from_scopes(&self.scopes).map_err(|error| Failure::usage(format!("--scope: {error}")))?;
            request.scopes = self.scopes;
        }
        request.policy = self.policy.as_deref().map(read_policy).transpose()?;
        let token = prom_auth::mint(&request, &secret)
            .map_err(|error| Failure::usage(format!("no token was made: {error}")))?;
        if context.output.is_for_machines() {
            context.output.json(&json!({"token": token}))
        } else {
            context.output.line(token)
        }
    }
}

/// As it stands in a token.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPolicy {
    rules: Vec<Rule>,
}

/// Checked here, because a hub would refuse the whole token.
fn read_policy(file: &Path) -> Result<Vec<Rule>, Failure> {
    let wrong = |reason: String| {
        Failure::usage(format!("{}: {reason}", file.display()))
            .fix(r#"write rules such as [{"effect": "allow", "action": "publish", "topics": ["orders.*"]}]"#)
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let rules = if text.trim_start().starts_with('[') {
        serde_json::from_str(&text)
    } else {
        serde_json::from_str(&text).map(|policy: WrittenPolicy| policy.rules)
    };
    let rules: Vec<Rule> = rules.map_err(|error| wrong(error.to_string()))?;
    Policy::from_rules(rules.clone()).map_err(|error| wrong(error.to_string()))?;
    Ok(rules)
}
