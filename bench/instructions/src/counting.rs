//! Where counting begins and ends: two functions that do nothing but have names.
//!
//! `cargo xtask instructions` tells callgrind to forget what it counted when the first is entered and to write
//! down what it counted when the second is. So starting, warming up and ending count for nothing, and the
//! threads of the store count as well as ours.

use std::hint::black_box;

#[inline(never)]
pub fn counting_begins_here() {
    black_box("begins");
}

/// Unlike the other, so that the compiler does not make one of the two.
#[inline(never)]
pub fn counting_ends_here() {
    black_box("ends");
    black_box("here");
}
