//! Strings: lengths, patterns, formats, and what is left out.

use serde_json::Value;

use super::shape::StringShape;
use super::{Search, SearchAnswer, State};
use crate::compat::format::SAMPLES;
use crate::compat::pattern::{FoundString, Wanted};

impl Search<'_> {
    pub(super) fn string(&mut self, state: &State, shape: &StringShape, except: &[Value]) -> SearchAnswer {
        if !shape.formats.is_disjoint(&shape.not_formats) {
            return SearchAnswer::No;
        }
        let wanted = Wanted {
            matched: shape.matched.clone(),
            unmatched: shape.unmatched.clone(),
            min: shape.min,
            max: shape.max,
            excluded: except.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        };
        let found = self.arena.patterns.find(&wanted, self.meter);
        match found {
            FoundString::None => return SearchAnswer::No,
            FoundString::Some(text) => {
                let answer = self.accept(state, Some(Value::from(text)));
                if answer != SearchAnswer::Maybe(None) {
                    return answer;
                }
            }
            FoundString::Unknown => {}
        }
        // A format, or a pattern without automaton: try strings that people use.
        if shape.formats.is_empty() && shape.not_formats.is_empty() {
            return SearchAnswer::Maybe(None);
        }
        for sample in SAMPLES {
            if let found @ SearchAnswer::Maybe(Some(_)) = self.accept(state, Some(Value::from(sample))) {
                return found;
            }
        }
        SearchAnswer::Maybe(None)
    }
}
