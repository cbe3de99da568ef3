//! Environment variables that replace what the file says. A bad value is an error that names the variable.

use super::problem::{ConfigProblem, ConfigProblems};
use super::{Config, log, mongo, value};

/// Puts what the environment says over what `config` holds. `variable` looks one up.
pub fn read(config: &mut Config, variable: impl Fn(&str) -> Option<String>) -> Result<(), ConfigProblems> {
    let mut problems = Vec::new();
    let mut set = |name: &str, put: &mut dyn FnMut(String) -> Result<(), String>| {
        let Some(text) = variable(name) else {
            return;
        };
        let result = if text.is_empty() {
            Err("it is set, but empty; unset it, or give it a value".to_owned())
        } else {
            put(text)
        };
        if let Err(reason) = result {
            problems.push(ConfigProblem::new(format!("environment variable {name}"), reason));
        }
    };
    set("WS_PORT", &mut |text| parse_port(&text).map(|port| config.server.listen.set_port(port)));
    set("OPS_PORT", &mut |text| parse_port(&text).map(|port| config.server.ops_port = Some(port)));
    set("MONGO_URL", &mut |text| mongo::parse_url(&text).map(|url| config.mongo.url = Some(url)));
    set("JWT_SECRET", &mut |text| {
        config.auth.jwt_secret = Some(text);
        Ok(())
    });
    set("JWT_JWKS_URL", &mut |text| value::parse_web_address(&text).map(|url| config.auth.jwks_url = Some(url)));
    set("JWT_AUD", &mut |text| {
        config.auth.audience = Some(text);
        Ok(())
    });
    set("JWT_ISS", &mut |text| {
        config.auth.issuer = Some(text);
        Ok(())
    });
    set("PROM_LOG", &mut |text| log::parse_level(&text).map(|level| config.log.level = level));
    if problems.is_empty() { Ok(()) } else { Err(ConfigProblems(problems)) }
}

fn parse_port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("`{text}` is not a port; it is a whole number from 0 to 65535"))
}
