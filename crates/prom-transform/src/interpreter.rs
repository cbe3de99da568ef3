//! Ties the interpreter to the meter: it asks for its program table before every step, and asking counts.

use jaq_core::data::HasLut;
use jaq_core::{DataT, Lut};

use crate::meter;
use crate::value::Value;

/// Programs over metered values.
pub(crate) struct Metered;

/// The program table of a run.
#[derive(Clone, Copy)]
pub(crate) struct ProgramTable<'a>(pub(crate) &'a Lut<Metered>);

impl DataT for Metered {
    type V<'a> = Value;
    type Data<'a> = ProgramTable<'a>;
}

impl<'a> HasLut<'a, Metered> for ProgramTable<'a> {
    fn lut(&self) -> &'a Lut<Metered> {
        meter::step();
        self.0
    }
}
