//! Unpredictable numbers for masks, keys and jitter. Not for secrets.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The generator SplitMix64.
pub(crate) struct SplitMix(u64);

impl SplitMix {
    /// Seeded as the standard library seeds its maps.
    pub fn new() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }

    /// The same seed gives the same numbers.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn mask(&mut self) -> [u8; 4] {
        (self.next() as u32).to_ne_bytes()
    }

    pub fn bytes_16(&mut self) -> [u8; 16] {
        (u128::from(self.next()) << 64 | u128::from(self.next())).to_ne_bytes()
    }

    /// Between 0 and 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
