//! Upcasters: steps that turn a payload of version N into one of version N + 1.
//!
//! A step is a jq program over the payload, or a function of the application. It runs for a reader, long after the event was
//! stored, so it must be total: a step that is missing or fails is an error that names the step, never a payload with the
//! wrong version on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use prom_transform::{CompileError, Program, ProgramLimits};
use serde_json::Value;

/// A step written in Rust.
pub type UpcastFn = Arc<dyn Fn(Value) -> Result<Value, String> + Send + Sync>;

/// One step.
#[derive(Clone)]
pub enum Upcaster {
    /// A jq program over the payload.
    Jq(Program),
    /// A function of the application.
    Function(UpcastFn),
}

/// The steps of a topic, by the version they begin at.
#[derive(Debug, Clone, Default)]
pub struct Upcasters(BTreeMap<u32, Upcaster>);

/// Why a payload did not arrive at the version asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name variants and fields")]
pub enum UpcastError {
    #[error("there is no upcaster from version {from} to {}", from + 1)]
    Missing { from: u32 },
    #[error("the upcaster from version {from} to {} failed: {reason}", from + 1)]
    Failed { from: u32, reason: String },
}

impl Upcaster {
    /// Compiles a jq program.
    pub fn jq(text: &str) -> Result<Self, CompileError> {
        Program::compile(text, ProgramLimits::default()).map(Self::Jq)
    }

    /// Programs see the text itself, so numbers of any length pass through.
    fn run(&self, from: u32, payload: &[u8]) -> Result<Vec<u8>, UpcastError> {
        let failed = |reason: String| UpcastError::Failed { from, reason };
        match self {
            Self::Function(function) => {
                let payload = serde_json::from_slice(payload).map_err(|error| failed(error.to_string()))?;
                let made = function(payload).map_err(failed)?;
                serde_json::to_vec(&made).map_err(|error| failed(error.to_string()))
            }
            Self::Jq(program) => {
                let made = program.first(payload).map_err(|error| failed(error.to_string()))?;
                made.ok_or_else(|| failed("it gave nothing".to_owned()))
            }
        }
    }
}

impl std::fmt::Debug for Upcaster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Jq(program) => write!(f, "Jq({})", program.text()),
            Self::Function(_) => f.write_str("Function"),
        }
    }
}

impl Upcasters {
    /// Adds the step from a version to the next, or replaces it.
    pub fn insert(&mut self, from: u32, step: Upcaster) {
        self.0.insert(from, step);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is a step from this version to the next.
    pub fn has(&self, from: u32) -> bool {
        self.0.contains_key(&from)
    }

    /// One step: the payload as version `from + 1` has it.
    pub fn step(&self, payload: &[u8], from: u32) -> Result<Vec<u8>, UpcastError> {
        self.0.get(&from).ok_or(UpcastError::Missing { from })?.run(from, payload)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn steps() -> Upcasters {
        let mut steps = Upcasters::default();
        steps.insert(1, Upcaster::jq(".mem_mib = .mem_mb | del(.mem_mb)").unwrap());
        steps.insert(
            2,
            Upcaster::Function(Arc::new(|payload| match payload {
                Value::Object(mut members) => {
                    members.insert("host".to_owned(), json!("unknown"));
                    Ok(Value::Object(members))
                }
                _ => Err("not an object".to_owned()),
            })),
        );
        steps
    }

    fn run(payload: Value, from: u32, to: u32) -> Result<Value, UpcastError> {
        let text =
            (from..to).try_fold(payload.to_string().into_bytes(), |payload, from| steps().step(&payload, from))?;
        Ok(serde_json::from_slice(&text).unwrap())
    }

    #[test]
    fn numbers_of_any_length_pass_through_a_program() {
        let made = steps().step(br#"{"mem_mb":123456789012345678901234567890}"#, 1).unwrap();
        assert_eq!(made, br#"{"mem_mib":123456789012345678901234567890}"#);
    }

    #[test]
    fn steps_run_one_after_the_other() {
        assert_eq!(run(json!({"mem_mb": 7}), 1, 3), Ok(json!({"mem_mib": 7, "host": "unknown"})));
        assert_eq!(run(json!({"x": 7}), 3, 3), Ok(json!({"x": 7})));
    }

    #[test]
    fn a_missing_or_failing_step_is_named() {
        assert_eq!(run(json!({}), 1, 4), Err(UpcastError::Missing { from: 3 }));
        assert!(steps().has(2) && !steps().has(3));
        let failed = run(json!(7), 2, 3).unwrap_err().to_string();
        assert_eq!(failed, "the upcaster from version 2 to 3 failed: not an object");
        assert!(matches!(run(json!(7), 1, 2), Err(UpcastError::Failed { from: 1, .. })));
        let mut nothing = Upcasters::default();
        nothing.insert(1, Upcaster::jq("empty").unwrap());
        assert!(matches!(nothing.step(b"7", 1), Err(UpcastError::Failed { from: 1, .. })));
    }
}
