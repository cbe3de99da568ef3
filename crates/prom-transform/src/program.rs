//! A compiled program: the public type of this crate.

use std::sync::Arc;

use jaq_core::{Ctx, Filter, ValT as _, Vars};

use crate::compile::compile;
use crate::error::{CompileError, Exceeded, RunError};
use crate::interpreter::{Metered, ProgramTable};
use crate::limits::ProgramLimits;
use crate::meter;
use crate::text::{self, NoText};
use crate::value::Value;

/// A compiled jq program with its limits. Cloning costs a reference count.
#[derive(Clone)]
pub struct Program {
    inner: Arc<Inner>,
}

struct Inner {
    text: String,
    limits: ProgramLimits,
    filter: Filter<Metered>,
}

impl Program {
    /// Parses and checks a program. The error names line and column.
    pub fn compile(text: &str, limits: ProgramLimits) -> Result<Self, CompileError> {
        let filter = compile(text)?;
        Ok(Self { inner: Arc::new(Inner { text: text.to_owned(), limits, filter }) })
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// The limits it runs under.
    pub fn limits(&self) -> &ProgramLimits {
        &self.inner.limits
    }

    /// All outputs, each as JSON text, in order. An error after some outputs fails the whole run.
    pub fn run(&self, input: &[u8]) -> Result<Vec<Vec<u8>>, RunError> {
        let limit = self.inner.limits.outputs;
        self.evaluate(input, |values| {
            let mut outputs = Vec::new();
            for value in values {
                if outputs.len() == limit {
                    meter::stop(Exceeded::Outputs);
                }
                outputs.push(write(&value?)?);
            }
            Ok(outputs)
        })
    }

    /// The first output as JSON text, if there is one; nothing is computed beyond it.
    pub fn first(&self, input: &[u8]) -> Result<Option<Vec<u8>>, RunError> {
        self.evaluate(input, |values| values.next().map(|value| write(&value?)).transpose())
    }

    /// Whether the first output is neither `false` nor `null`; no output is `false`.
    pub fn test(&self, input: &[u8]) -> Result<bool, RunError> {
        self.evaluate(input, |values| values.next().map_or(Ok(false), |value| Ok(value?.as_bool())))
    }

    fn evaluate<T>(
        &self,
        input: &[u8],
        consume: impl FnOnce(&mut dyn Iterator<Item = Result<Value, RunError>>) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let Inner { limits, filter, .. } = &*self.inner;
        meter::run(limits, || {
            let input = text::read(input).map_err(RunError::Input)?;
            let context = Ctx::<Metered>::new(ProgramTable(&filter.lut), Vars::new([]));
            let mut values = filter.id.run((context, input)).map(|value| {
                value.map_err(|exception| match exception.get_err() {
                    Ok(error) => RunError::Program(error.to_string()),
                    Err(_) => RunError::Program("`break` outside of its label".into()),
                })
            });
            consume(&mut values)
        })
    }
}

fn write(value: &Value) -> Result<Vec<u8>, RunError> {
    text::write_output(&value.val).map_err(|reason| match reason {
        NoText::KeyIsNotAString => RunError::Output("an object has a key that is not a string".into()),
        NoText::Full => RunError::Limit(Exceeded::OutputBytes),
    })
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Program").field(&self.inner.text).finish()
    }
}
