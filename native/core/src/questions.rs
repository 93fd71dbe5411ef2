//! The questions that rows asked, each with its group. The readers of several threads share them.

use std::collections::hash_map::RandomState;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::block::{Columns, Group};
use crate::fingerprint::Fingerprints;
use crate::identity::{Digest, ABSENT};

/// Several tables: each of them moves fewer bytes when it grows, and threads seldom wait for each other.
const TABLES: usize = 16;
/// The number of a group of which no candidate has been joined yet.
const NONE: u32 = u32::MAX;

/// What is known of a question, and what its answers must know of it.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// The number of its group, in the order in which threads found them.
    pub group: u32,
    /// The number of calls in the prompt.
    pub calls: u32,
}

/// Questions by their fingerprints. A clone of it has the same ones.
#[derive(Clone, Default)]
pub struct Questions {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    fingerprints: Fingerprints,
    known: [Mutex<Table>; TABLES],
    groups: Mutex<Groups>,
}

#[derive(Default)]
struct Groups {
    /// For each group its number in the order of its candidates, as far as these have been joined.
    numbers: Vec<u32>,
    joined: u32,
    /// The groups of which no candidate has been joined yet.
    fresh: HashMap<u32, Group>,
    /// For each group the task that its name does not say; none as long as no group has one.
    tasks: Vec<Digest>,
}

impl Questions {
    pub fn fingerprint<const COUNT: usize>(&self, texts: [&str; COUNT]) -> Digest {
        self.shared.fingerprints.of(texts)
    }

    pub fn find(&self, fingerprint: &Digest) -> Option<Question> {
        let table = locked(&self.shared.known[table_of(fingerprint)]);
        table.get(&Key(*fingerprint)).copied()
    }

    /// Find several questions at once.
    pub fn find_all<'a>(
        &self,
        fingerprints: impl Iterator<Item = &'a Digest>,
    ) -> Vec<Option<Question>> {
        let tables = self.shared.known.each_ref().map(locked);
        fingerprints.map(|one| tables[table_of(one)].get(&Key(*one)).copied()).collect()
    }

    /// Add a question, unless another thread has done so meanwhile.
    pub fn add(&self, fingerprint: Digest, group: Group, calls: u32) -> Question {
        let mut table = locked(&self.shared.known[table_of(&fingerprint)]);
        *table
            .entry(Key(fingerprint))
            .or_insert_with(|| Question { group: self.add_group(group), calls })
    }

    /// Add a group whose question will not be found again.
    pub fn add_group(&self, group: Group) -> u32 {
        let mut groups = locked(&self.shared.groups);
        let number = groups.numbers.len() as u32;
        groups.numbers.push(NONE);
        if group.task != ABSENT {
            groups.tasks.resize(number as usize, ABSENT);
            groups.tasks.push(group.task);
        }
        groups.fresh.insert(number, group);
        number
    }

    /// Number the groups of the next candidates in the order in which these come, whichever thread
    /// found them first; and take those that are new.
    pub fn join(&self, columns: &mut Columns) {
        let mut groups = locked(&self.shared.groups);
        let Groups { numbers, joined, fresh, tasks } = &mut *groups;
        if !tasks.is_empty() {
            let task = |group: &u32| tasks.get(*group as usize).copied().unwrap_or(ABSENT);
            columns.tasks.extend(columns.groups.iter().map(task));
        }
        for group in &mut columns.groups {
            let number = &mut numbers[*group as usize];
            if *number == NONE {
                *number = *joined;
                *joined += 1;
                columns.fresh.extend(fresh.remove(group));
            }
            *group = *number;
        }
    }
}

type Table = HashMap<Key, Question, Secret>;

fn table_of(fingerprint: &Digest) -> usize {
    usize::from(fingerprint[15]) % TABLES
}

/// A fingerprint, whose bits are as good as random: a product under a secret key is enough of a hash.
#[derive(PartialEq, Eq)]
struct Key(Digest);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(u128::from_le_bytes(self.0));
    }
}

struct Secret(u64);

impl Default for Secret {
    fn default() -> Self {
        Secret(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Secret {
    type Hasher = Product;

    fn build_hasher(&self) -> Product {
        Product(self.0)
    }
}

struct Product(u64);

impl Hasher for Product {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u128(u128::from(*byte)));
    }

    fn write_u128(&mut self, bits: u128) {
        let product = u128::from(bits as u64 ^ self.0) * u128::from(self.0 | 1);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Take a lock, even one that a panic has poisoned: a panic ends the run anyway.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
