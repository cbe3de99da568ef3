//! Numbers as exact fractions. A comparison by `f64` would call `9007199254740993` equal to its neighbour.
//!
//! A number that is stored as `f64` counts as the integer that it is, and otherwise as the shortest decimal that reads
//! back as it: `0.1` is one tenth, as its author meant, and as the validator reads it.

use std::fmt;

use num_bigint::BigInt;
use num_integer::Integer as _;
use num_rational::BigRational;
use num_traits::{One as _, ToPrimitive as _, Zero as _};
use serde_json::{Number, Value};

use crate::limits::NUMBER_DIGITS;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Exact(BigRational);

/// Digits of which the greatest common divisor is found in the time of one step, roughly.
const BITS_PER_STEP: u64 = 128;

impl Exact {
    /// `None` where the number has more digits than we compute with.
    pub fn read(number: &Number) -> Option<Self> {
        if let Some(integer) = number.as_i64() {
            return Some(Self::from(integer));
        }
        if let Some(integer) = number.as_u64() {
            return Some(Self(BigRational::from_integer(integer.into())));
        }
        if let Some(float) = number.as_f64().filter(|float| float.fract() == 0.0) {
            return BigRational::from_float(float).map(Self);
        }
        Self::parse(&number.to_string())
    }

    fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.trim_start_matches('+').parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        let scale = u32::try_from(exponent.unsigned_abs()).ok().filter(|digits| *digits <= NUMBER_DIGITS)?;
        if digits.len() > NUMBER_DIGITS as usize {
            return None;
        }
        let digits: BigInt = digits.parse().ok()?;
        let power = BigInt::from(10).pow(scale);
        Some(Self(if exponent < 0 {
            BigRational::new(digits, power)
        } else {
            BigRational::from_integer(digits * power)
        }))
    }

    pub fn one() -> Self {
        Self(BigRational::one())
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// Zero divides nothing.
    pub fn is_multiple_of(&self, other: &Self) -> bool {
        !other.is_zero() && (&self.0 / &other.0).is_integer()
    }

    /// The smallest positive number that is a multiple of both.
    pub fn common_multiple(&self, other: &Self) -> Self {
        let numerator = (self.0.numer() * other.0.denom()).lcm(&(other.0.numer() * self.0.denom()));
        Self(BigRational::new(numerator, self.0.denom() * other.0.denom()))
    }

    /// Bits of numerator and denominator.
    pub fn bits(&self) -> u64 {
        self.0.numer().bits() + self.0.denom().bits()
    }

    /// What one division by it takes, in steps of a comparison.
    pub fn cost(&self) -> u64 {
        self.bits() / BITS_PER_STEP
    }

    /// How many times `unit` fits below or up to this number.
    pub fn floor_in(&self, unit: &Self) -> BigInt {
        (&self.0 / &unit.0).floor().to_integer()
    }

    pub fn ceil_in(&self, unit: &Self) -> BigInt {
        (&self.0 / &unit.0).ceil().to_integer()
    }

    pub fn times(&self, factor: &BigInt) -> Self {
        Self(&self.0 * BigRational::from_integer(factor.clone()))
    }

    /// `self + (other - self) * numerator / denominator`.
    pub fn towards(&self, other: &Self, numerator: i64, denominator: i64) -> Self {
        let share = BigRational::new(numerator.into(), denominator.into());
        Self(&self.0 + (&other.0 - &self.0) * share)
    }

    pub fn plus(&self, other: &Self) -> Self {
        Self(&self.0 + &other.0)
    }

    pub fn minus(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }

    /// As JSON, if a stored number has exactly this value.
    pub fn to_value(&self) -> Option<Value> {
        if self.0.is_integer() {
            let integer = self.0.to_integer();
            let small = integer.to_i64().map(Value::from).or_else(|| integer.to_u64().map(Value::from));
            if small.is_some() {
                return small;
            }
        }
        let number = Number::from_f64(self.0.to_f64()?)?;
        (Self::read(&number)? == *self).then_some(Value::Number(number))
    }
}

impl From<i64> for Exact {
    fn from(integer: i64) -> Self {
        Self(BigRational::from_integer(integer.into()))
    }
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_value() {
            Some(value) => write!(f, "{value}"),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn exact(value: Value) -> Exact {
        Exact::read(value.as_number().unwrap()).unwrap()
    }

    #[test]
    fn decimals_are_what_was_written_and_large_integers_are_not_rounded() {
        assert!(exact(json!(0.3)).is_multiple_of(&exact(json!(0.1))));
        assert!(!exact(json!(0.35)).is_multiple_of(&exact(json!(0.1))));
        assert!(exact(json!(9_007_199_254_740_993_u64)) > exact(json!(9_007_199_254_740_992.0)));
        assert_eq!(exact(json!(1e2)), exact(json!(100)));
        assert_eq!(exact(json!(0.4)).common_multiple(&exact(json!(0.6))), exact(json!(1.2)));
        assert_eq!(exact(json!(u64::MAX)).to_value(), Some(json!(u64::MAX)));
        assert_eq!(exact(json!(1.5)).to_value(), Some(json!(1.5)));
        assert_eq!(Exact::parse("1e999999999"), None);
    }
}
