//! Which candidates of a group become its pair: the best one and the worst one.

use crate::identity::Digest;
use crate::json::{No, Result};
use crate::numbers::{gap_between, NO_INDEX};

/// Candidates in columns.
pub trait Candidates {
    fn score(&self, number: u32) -> f64;
    fn index(&self, number: u32) -> i64;
    fn response(&self, number: u32) -> Digest;
}

/// What a pair must keep to.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub least_chosen: f64,
    pub least_gap: f64,
    pub largest_gap: f64,
}

/// Why a group has no pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPair {
    OneCandidate,
    SameAnswer,
    AllTied,
    /// Its best candidate is below `least_chosen`.
    ScoreTooLow,
    /// Its widest gap is below `least_gap`.
    GapTooSmall,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Decided {
    Pair(u32, u32),
    NoPair(NoPair),
    /// Python must decide: copies of one rollout, or a pair between the best and the worst.
    Unclear,
}

/// The pair of a group. Its members are sorted, best first.
pub fn best_vs_worst(columns: &impl Candidates, members: &mut [u32], bounds: &Bounds) -> Decided {
    if !rank(columns, members) {
        return Decided::Unclear;
    }
    let (Some(&best), Some(&last)) = (members.first(), members.last()) else {
        return Decided::Unclear;
    };
    let (high, low) = (columns.score(best), columns.score(last));
    let worst = members.iter().copied().find(|member| columns.score(*member) == low);
    let worst = worst.unwrap_or(last);
    let other = columns.response(best);
    if high > low && columns.response(worst) != other {
        within(bounds, high, low).map_or(Decided::Unclear, |found| {
            found.map_or(Decided::Pair(best, worst), Decided::NoPair)
        })
    } else if high > low && members.iter().any(|member| columns.response(*member) != other) {
        Decided::Unclear
    } else if members.len() < 2 {
        Decided::NoPair(NoPair::OneCandidate)
    } else if members.iter().all(|member| columns.response(*member) == other) {
        Decided::NoPair(NoPair::SameAnswer)
    } else {
        Decided::NoPair(NoPair::AllTied)
    }
}

/// Which bound the widest pair of a group fails, and so each other pair; `No` if another may pass.
fn within(bounds: &Bounds, high: f64, low: f64) -> Result<Option<NoPair>> {
    if high < bounds.least_chosen {
        return Ok(Some(NoPair::ScoreTooLow));
    }
    if bounds.least_gap <= 0.0 && bounds.largest_gap == f64::INFINITY {
        return Ok(None);
    }
    let gap = gap_between(high, low)?;
    if gap < bounds.least_gap {
        Ok(Some(NoPair::GapTooSmall))
    } else if gap <= bounds.largest_gap {
        Ok(None)
    } else {
        Err(No::Odd)
    }
}

/// Sort the members of a group, best first; false if their order may depend on more than columns.
///
/// It does not if each has an index of its own, or none has one and each has its own answer.
fn rank(columns: &impl Candidates, members: &mut [u32]) -> bool {
    let without = members.iter().filter(|member| columns.index(**member) == NO_INDEX).count();
    if without == 0 {
        members.sort_by_key(|member| columns.index(*member));
        if members.windows(2).any(|two| columns.index(two[0]) == columns.index(two[1])) {
            return false;
        }
    } else if without == members.len() {
        members.sort_by_key(|member| columns.response(*member));
        if members.windows(2).any(|two| columns.response(two[0]) == columns.response(two[1])) {
            return false;
        }
    } else {
        return false;
    }
    if members.iter().any(|member| columns.score(*member).is_nan()) {
        return false;
    }
    let score = |member: &u32| columns.score(*member) + 0.0; // both zeros are one score
    members.sort_by(|one, other| score(other).total_cmp(&score(one)));
    true
}

/// All candidates, group by group in order of arrival, and where each group starts.
pub fn by_group(group_of: impl Iterator<Item = u32> + Clone, groups: usize) -> [Vec<u32>; 2] {
    let mut starts = vec![0; groups + 1];
    for group in group_of.clone() {
        starts[group as usize + 1] += 1;
    }
    for group in 0..groups {
        starts[group + 1] += starts[group];
    }
    let mut next = starts.clone();
    let mut numbers = vec![0; starts[groups] as usize];
    for (number, group) in group_of.enumerate() {
        let place = &mut next[group as usize];
        numbers[*place as usize] = number as u32;
        *place += 1;
    }
    [numbers, starts]
}

#[cfg(test)]
mod tests {
    use super::{best_vs_worst, by_group, Bounds, Candidates, Decided, NoPair};
    use crate::identity::Digest;
    use crate::numbers::NO_INDEX;

    struct Few(Vec<(f64, i64, u8)>);

    impl Candidates for Few {
        fn score(&self, number: u32) -> f64 {
            self.0[number as usize].0
        }
        fn index(&self, number: u32) -> i64 {
            self.0[number as usize].1
        }
        fn response(&self, number: u32) -> Digest {
            [self.0[number as usize].2; 16]
        }
    }

    const NONE: Bounds =
        Bounds { least_chosen: f64::NEG_INFINITY, least_gap: 0.0, largest_gap: f64::INFINITY };

    fn bounded(candidates: &[(f64, i64, u8)], bounds: Bounds) -> Decided {
        let mut members: Vec<u32> = (0..candidates.len() as u32).collect();
        best_vs_worst(&Few(candidates.to_vec()), &mut members, &bounds)
    }

    fn decided(candidates: &[(f64, i64, u8)]) -> Decided {
        bounded(candidates, NONE)
    }

    #[test]
    fn ties_go_by_index_or_else_by_answer() {
        let group = [(0.5, 1, 1), (1.0, 5, 2), (0.0, 9, 3), (1.0, 2, 4), (0.0, 3, 5)];
        assert_eq!(decided(&group), Decided::Pair(3, 4));
        let group = group.map(|(score, _, answer)| (score, NO_INDEX, answer));
        assert_eq!(decided(&group), Decided::Pair(1, 2));
    }

    #[test]
    fn groups_without_a_pair() {
        let two = |high: f64, answer: u8| [(high, 1, 1), (0.5, 2, answer)];
        assert_eq!(decided(&two(1.0, 2)[..1]), Decided::NoPair(NoPair::OneCandidate));
        assert_eq!(decided(&two(0.5, 1)), Decided::NoPair(NoPair::SameAnswer));
        assert_eq!(decided(&two(0.5, 2)), Decided::NoPair(NoPair::AllTied));
        assert_eq!(decided(&two(1.0, 1)), Decided::NoPair(NoPair::SameAnswer));
        assert_eq!(decided(&two(1.0, 2)), Decided::Pair(0, 1));
    }

    #[test]
    fn bounds_are_met_or_the_first_one_counts() {
        let group = [(0.9, 1, 1), (0.8, 2, 2), (0.1, 3, 3)]; // as doubles, 0.9 - 0.8 is below 0.1
        let pair = Decided::Pair(0, 2);
        let few = |least_gap| bounded(&group[..2], Bounds { least_gap, ..NONE });
        assert_eq!(few(0.1), Decided::Pair(0, 1));
        assert_eq!(few(0.11), Decided::NoPair(NoPair::GapTooSmall));
        let above = |least_chosen| bounded(&group, Bounds { least_chosen, least_gap: 0.9, ..NONE });
        assert_eq!(above(0.9), Decided::NoPair(NoPair::GapTooSmall));
        assert_eq!(above(0.91), Decided::NoPair(NoPair::ScoreTooLow));
        assert_eq!(bounded(&group, Bounds { largest_gap: 0.8, ..NONE }), pair);
        assert_eq!(bounded(&group, Bounds { largest_gap: 0.79, ..NONE }), Decided::Unclear);
    }

    #[test]
    fn what_takes_a_closer_look_is_unclear() {
        for group in [
            [(1.0, 1, 1), (0.0, 1, 2)],
            [(1.0, 1, 1), (0.0, NO_INDEX, 2)],
            [(1.0, NO_INDEX, 1), (0.0, NO_INDEX, 1)],
        ] {
            assert_eq!(decided(&group), Decided::Unclear);
        }
        assert_eq!(decided(&[(1.0, 1, 1), (0.5, 2, 2), (0.0, 3, 1)]), Decided::Unclear);
    }

    #[test]
    fn groups_keep_the_order_of_arrival() {
        let [numbers, starts] = by_group([1, 0, 1, 3].into_iter(), 4);
        assert_eq!((numbers, starts), (vec![1, 0, 2, 3], vec![0, 1, 3, 3, 4]));
    }
}
