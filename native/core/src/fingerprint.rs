//! Fingerprints of questions, by which rows of one process find their group.
//!
//! A table of all questions needs one short key for each, and an untrusted row must not get that of
//! another question. SHA-256 alone does that, at 2 GB a second. Here each block of bytes is made
//! shorter first by NH, the hash of UMAC, under a secret key: for any two blocks that differ, chosen
//! by somebody who does not know the key, the chance to become the same is 1 in 2^128.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use sha2::{Digest as _, Sha256};

use crate::identity::Digest;

/// The words of a block, of 8 bytes each.
const BLOCK: usize = 128;
const BYTES: usize = 8 * BLOCK;
/// The key of the second pass is that of the first one, moved by so many words.
const SHIFT: usize = 2;

/// The secret key of a process.
#[derive(Debug)]
pub struct Fingerprints {
    key: Box<[u64; BLOCK + SHIFT]>,
}

impl Default for Fingerprints {
    fn default() -> Self {
        let secret = RandomState::new();
        Fingerprints { key: Box::new(std::array::from_fn(|place| secret.hash_one(place))) }
    }
}

impl Fingerprints {
    /// The fingerprint of several texts.
    pub fn of<const COUNT: usize>(&self, texts: [&str; COUNT]) -> Digest {
        let mut hash = Sha256::new();
        let lengths = texts.map(|text| (text.len() as u32).to_le_bytes()); // rows are below 4 GB
        hash.update(lengths.as_flattened());
        // The texts stand one behind the other, so that short ones take one block together.
        let (mut block, mut filled) = ([0; BYTES], 0);
        for text in texts {
            let mut rest = text.as_bytes();
            while filled + rest.len() >= BYTES {
                let (first, behind) = rest.split_at(BYTES - filled);
                if filled == 0 {
                    hash.update(self.shorten(first));
                } else {
                    block[filled..].copy_from_slice(first);
                    hash.update(self.shorten(&block));
                }
                (filled, rest) = (0, behind);
            }
            block[filled..filled + rest.len()].copy_from_slice(rest);
            filled += rest.len();
        }
        hash.update(self.shorten(&block[..filled]));
        let mut found = Digest::default();
        found.copy_from_slice(&hash.finalize()[..16]);
        found
    }

    fn shorten(&self, block: &[u8]) -> [u8; 32] {
        let mut sums = [0_u128; 2];
        let mut add = |keys: &[u64], pair: [u8; 16]| {
            let pair = u128::from_le_bytes(pair);
            let (one, other) = (pair as u64, (pair >> 64) as u64);
            for (sum, keys) in sums.iter_mut().zip([[keys[0], keys[1]], [keys[2], keys[3]]]) {
                let factors = [one.wrapping_add(keys[0]), other.wrapping_add(keys[1])];
                *sum = sum.wrapping_add(u128::from(factors[0]) * u128::from(factors[1]));
            }
        };
        let pairs = block.chunks_exact(16);
        let rest = pairs.remainder();
        let mut keys = self.key.windows(4).step_by(2);
        for (pair, keys) in pairs.zip(&mut keys) {
            add(keys, pair.try_into().unwrap_or_default());
        }
        if let (false, Some(keys)) = (rest.is_empty(), keys.next()) {
            let mut last = [0; 16];
            last[..rest.len()].copy_from_slice(rest);
            add(keys, last);
        }
        let mut bytes = [0; 32];
        bytes.copy_from_slice(sums.map(u128::to_le_bytes).as_flattened());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Fingerprints;

    #[test]
    fn each_byte_and_each_boundary_counts() {
        let fingerprints = Fingerprints::default();
        let long = "abcdefg ".repeat(400);
        let of = |text: &str| fingerprints.of([text, "b", ""]);
        assert_eq!(of(&long), of(&long.clone()));
        for place in 0..long.len() {
            let mut other = long.clone();
            other.replace_range(place..=place, "z");
            assert_ne!(of(&long), of(&other), "byte {place}");
            assert_ne!(of(&long), of(&long[..place]), "the first {place} bytes");
        }
        assert_ne!(of("a\0"), of("a"));
        assert_ne!(fingerprints.of(["a", "bc", ""]), fingerprints.of(["ab", "c", ""]));
        assert_ne!(fingerprints.of(["a", "", ""]), fingerprints.of(["", "a", ""]));
        assert_ne!(Fingerprints::default().of(["a", "", ""]), fingerprints.of(["a", "", ""]));
    }
}
