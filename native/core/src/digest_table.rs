//! A compact table that numbers digests: the twin of `DigestTable` in Python.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use crate::identity::Digest;

const FIRST_SLOTS: usize = 64;

/// Numbers digests in the order in which they first come: some 25 bytes each.
#[derive(Default)]
pub struct DigestTable {
    digests: Vec<Digest>,
    /// A number plus one; 0 if free. Slots are chosen by a keyed hash, so that rows cannot be crafted
    /// to collide.
    slots: Vec<u32>,
    hash: RandomState,
}

impl DigestTable {
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    pub fn get(&self, number: usize) -> Option<&Digest> {
        self.digests.get(number)
    }

    /// The number of a digest; a new digest gets the next free number.
    pub fn number_of(&mut self, digest: Digest) -> u32 {
        if 4 * self.digests.len() >= 3 * self.slots.len() {
            self.renew((2 * self.slots.len()).max(FIRST_SLOTS));
        }
        let slot = self.slot(&digest);
        if self.slots[slot] == 0 {
            self.digests.push(digest);
            self.slots[slot] = self.digests.len() as u32;
        }
        self.slots[slot] - 1
    }

    /// Forget all digests but so many first ones.
    pub fn truncate(&mut self, count: usize) {
        self.digests.truncate(count);
        self.renew(self.slots.len());
    }

    /// The slot of a digest, or the free slot where it belongs.
    fn slot(&self, digest: &Digest) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.hash.hash_one(digest) as usize & mask;
        while let Some(found) = (self.slots[slot] as usize).checked_sub(1) {
            if self.digests[found] == *digest {
                break;
            }
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn renew(&mut self, slots: usize) {
        self.slots = vec![0; slots];
        for number in 0..self.digests.len() {
            let slot = self.slot(&self.digests[number]);
            self.slots[slot] = number as u32 + 1;
        }
    }
}
