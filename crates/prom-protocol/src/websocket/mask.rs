//! The mask that clients put over what they send.

/// Applies a mask, or takes it off again: it is its own inverse.
pub fn apply(bytes: &mut [u8], key: [u8; 4]) {
    let wide = u64::from_ne_bytes([key[0], key[1], key[2], key[3], key[0], key[1], key[2], key[3]]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (at, byte) in rest.iter_mut().enumerate() {
        *byte ^= key[at % 4];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_meets_its_byte_of_the_key() {
        let key = [1, 2, 4, 8];
        for len in 0..40usize {
            let mut bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
            apply(&mut bytes, key);
            let expected: Vec<u8> = (0..len).map(|at| at as u8 ^ key[at % 4]).collect();
            assert_eq!(bytes, expected, "length {len}");
        }
    }
}
