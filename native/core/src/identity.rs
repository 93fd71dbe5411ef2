//! The public digests of identity version 2 (docs/concepts.md, "Identity, byte by byte").

use sha2::{Digest as _, Sha256};

pub type Digest = [u8; 16];
pub const ABSENT: Digest = [0; 16];

/// The first 16 bytes of the SHA-256 of some bytes, one piece after the other.
pub fn digest(pieces: &[&[u8]]) -> Digest {
    let mut hash = Sha256::new();
    for piece in pieces {
        hash.update(piece);
    }
    let mut digest = ABSENT;
    digest.copy_from_slice(&hash.finalize()[..16]);
    digest
}

pub fn hexadecimal(digest: &Digest) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * digest.len());
    for byte in digest {
        text.extend([byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)] as char));
    }
    text
}
