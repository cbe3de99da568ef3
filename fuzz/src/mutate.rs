//! Spoiling inputs that are in order: bits, bytes, pieces, words of the trade, parts of other inputs.

use prom_testkit::Random;

/// Lengths and limits that code compares with.
const INTERESTING: [u64; 14] = [0, 1, 2, 55, 56, 125, 126, 127, 128, 255, 0xFFFF, 1 << 20, u32::MAX as u64, u64::MAX];
/// Longer inputs find nothing more and take longer.
const LONGEST: usize = 16 * 1024;

/// An input made from one of the seeds.
pub fn mutated(random: &mut Random, seeds: &[Vec<u8>], words: &[Vec<u8>]) -> Vec<u8> {
    let mut input = random.pick(seeds).cloned().unwrap_or_default();
    // One in sixteen stays as it is: seeds have to hold too.
    if random.one_in(16) {
        return input;
    }
    for _ in 0..1 + random.index(8) {
        spoil(&mut input, random, seeds, words);
    }
    input.truncate(LONGEST);
    input
}

fn spoil(input: &mut Vec<u8>, random: &mut Random, seeds: &[Vec<u8>], words: &[Vec<u8>]) {
    let at = random.index(input.len() + 1);
    let piece = at..(at + random.index(24)).min(input.len());
    match random.index(10) {
        0 if at < input.len() => input[at] ^= 1 << random.index(8),
        1 if at < input.len() => input[at] = random.next_u64() as u8,
        2 => insert(input, at, &[random.next_u64() as u8]),
        3 => drop(input.drain(piece)),
        4 => {
            let again = input[piece].to_vec();
            (0..1 + random.index(4)).for_each(|_| insert(input, at, &again));
        }
        5 => input.truncate(at),
        6 => insert(input, at, random.pick(words).map_or(&[], Vec::as_slice)),
        7 => overwrite(input, at, &number(random)),
        8 => {
            let other = random.pick(seeds).cloned().unwrap_or_default();
            let from = random.index(other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        _ => input.rotate_left(at),
    }
}

/// An interesting number in some width and byte order.
fn number(random: &mut Random) -> Vec<u8> {
    let number =
        random.pick(&INTERESTING).copied().unwrap_or_default().wrapping_add(random.within(0..3)).wrapping_sub(1);
    let width = 1 << random.index(4);
    match random.one_in(2) {
        true => number.to_le_bytes()[..width].to_vec(),
        false => number.to_be_bytes()[8 - width..].to_vec(),
    }
}

fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    if input.len() + piece.len() <= LONGEST {
        drop(input.splice(at..at, piece.iter().copied()));
    }
}

fn overwrite(input: &mut [u8], at: usize, piece: &[u8]) {
    input[at..].iter_mut().zip(piece).for_each(|(byte, new)| *byte = *new);
}
