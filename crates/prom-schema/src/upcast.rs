//! Upcasters: steps that turn a payload of version N into one of version N + 1.
//!
//! A step is a jq program over the payload, or a function of the application. It runs for a reader, long after the event was
//! stored, so it must be total: a step that is missing or fails is an error that names the step, never a payload with the
//! wrong version on it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use prom_transform::{CompileError, Program, ProgramLimits};
use serde_json::Value;

use crate::limits::{UPCAST_CHAIN_TIME, UPCAST_TIME};

/// A step written in Rust.
pub type UpcastFn = Arc<dyn Fn(Value) -> Result<Value, String> + Send + Sync>;

/// One step.
#[derive(Clone)]
pub enum Upcaster {
    /// A jq program over the payload.
    Jq(Program),
    /// A function of the application.
    Function(UpcastFn),
    /// A program that is stored and cannot be compiled, with the reason: a reader that needs it is told.
    Unusable(String),
}

/// The steps of a topic, by the version they begin at.
#[derive(Debug, Clone, Default)]
pub struct Upcasters(BTreeMap<u32, Upcaster>);

/// A payload that steps have made.
#[derive(Debug, Clone, PartialEq)]
pub struct UpcastPayload {
    /// As text.
    pub text: Vec<u8>,
    /// The same, where the last step was a function.
    pub value: Option<Value>,
}

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
        let limits = ProgramLimits { time: UPCAST_TIME, ..ProgramLimits::default() };
        Program::compile(text, limits).map(Self::Jq)
    }
}

impl std::fmt::Debug for Upcaster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Jq(program) => write!(f, "Jq({})", program.text()),
            Self::Function(_) => f.write_str("Function"),
            Self::Unusable(reason) => write!(f, "Unusable({reason})"),
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

    /// Takes the steps from these versions, one after the other; `None` where there are none to take.
    ///
    /// Programs see the text itself, so numbers of any length pass through. Between functions the payload stays a value.
    pub fn run(
        &self,
        payload: &[u8],
        steps: impl IntoIterator<Item = u32>,
    ) -> Result<Option<UpcastPayload>, UpcastError> {
        let began = Instant::now();
        let mut made: Option<OnTheWay> = None;
        for from in steps {
            let failed = |reason: String| UpcastError::Failed { from, reason };
            if began.elapsed() > UPCAST_CHAIN_TIME {
                return Err(failed("the steps before it took too long".to_owned()));
            }
            let step = self.0.get(&from).ok_or(UpcastError::Missing { from })?;
            made = Some(match step {
                Upcaster::Function(function) => {
                    let value = made.map_or_else(|| serde_json::from_slice(payload), OnTheWay::into_value);
                    let value = value.map_err(|error| failed(error.to_string()))?;
                    OnTheWay::Value(call(function, value).map_err(failed)?)
                }
                Upcaster::Unusable(reason) => return Err(failed(reason.clone())),
                Upcaster::Jq(program) => {
                    let text = made.map(OnTheWay::into_text).transpose().map_err(|error| failed(error.to_string()))?;
                    let first = program.first(text.as_deref().unwrap_or(payload));
                    let first = first.map_err(|error| failed(error.to_string()))?;
                    OnTheWay::Text(first.ok_or_else(|| failed("it gave nothing".to_owned()))?)
                }
            });
        }
        Ok(made.map(OnTheWay::arrived))
    }
}

/// A function that panics fails for this payload alone.
fn call(function: &UpcastFn, value: Value) -> Result<Value, String> {
    catch_unwind(AssertUnwindSafe(|| function(value))).unwrap_or_else(|_| Err("it panicked".to_owned()))
}

/// Between two steps.
enum OnTheWay {
    Text(Vec<u8>),
    Value(Value),
}

impl OnTheWay {
    fn into_text(self) -> serde_json::Result<Vec<u8>> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Value(value) => serde_json::to_vec(&value),
        }
    }

    fn into_value(self) -> serde_json::Result<Value> {
        match self {
            Self::Text(text) => serde_json::from_slice(&text),
            Self::Value(value) => Ok(value),
        }
    }

    fn arrived(self) -> UpcastPayload {
        match self {
            Self::Text(text) => UpcastPayload { text, value: None },
            // The keys of a value are text, so it can always be written.
            Self::Value(value) => UpcastPayload { text: value.to_string().into_bytes(), value: Some(value) },
        }
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
        let made = steps().run(payload.to_string().as_bytes(), from..to)?;
        let Some(UpcastPayload { text, value }) = made else { return Ok(payload) };
        let read: Value = serde_json::from_slice(&text).unwrap();
        assert!(value.is_none_or(|value| value == read), "text and value differ");
        Ok(read)
    }

    #[test]
    fn numbers_of_any_length_pass_through_a_program() {
        let made = steps().run(br#"{"mem_mb":123456789012345678901234567890}"#, [1]).unwrap().unwrap();
        assert_eq!(made.text, br#"{"mem_mib":123456789012345678901234567890}"#);
    }

    #[test]
    fn steps_run_one_after_the_other() {
        assert_eq!(run(json!({"mem_mb": 7}), 1, 3), Ok(json!({"mem_mib": 7, "host": "unknown"})));
        assert_eq!(run(json!({"x": 7}), 3, 3), Ok(json!({"x": 7})));
    }

    #[test]
    fn a_function_that_panics_is_a_step_that_failed() {
        let mut steps = Upcasters::default();
        steps.insert(
            1,
            Upcaster::Function(Arc::new(|value| match value {
                Value::Null => panic!("on purpose"),
                other => Ok(other),
            })),
        );
        let failed = UpcastError::Failed { from: 1, reason: "it panicked".to_owned() };
        assert_eq!(steps.run(b"null", [1]), Err(failed));
        assert!(steps.run(b"7", [1]).is_ok());
    }

    #[test]
    fn programs_and_functions_follow_each_other_in_any_order() {
        let mut mixed = steps();
        mixed.insert(3, Upcaster::Function(Arc::new(|value| Ok(json!([value])))));
        mixed.insert(4, Upcaster::jq(".[0].host").unwrap());
        let made = mixed.run(br#"{"mem_mb":7}"#, 1..4).unwrap().unwrap();
        assert_eq!(made.value, Some(json!([{"mem_mib": 7, "host": "unknown"}])));
        assert_eq!(serde_json::from_slice::<Value>(&made.text).unwrap(), made.value.unwrap());
        let made = mixed.run(br#"{"mem_mb":7}"#, 1..5).unwrap().unwrap();
        assert_eq!((made.text, made.value), (b"\"unknown\"".to_vec(), None));
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
        assert!(matches!(nothing.run(b"7", [1]), Err(UpcastError::Failed { from: 1, .. })));
    }
}
