//! Plots as SVG, written by hand: bars with their spread, pairs of percentiles, lines over growing numbers. Light
//! background, labelled axes with units, no fonts and no scripts of their own.

pub mod bars;
pub mod colour;
pub mod lines;
pub mod percentiles;
mod rows;
mod scale;
mod svg;

pub use scale::Kind;
