//! Which candidates of a group become pairs: the best one and the worst one, or all.

use std::cell::Cell;

use crate::identity::Digest;
use crate::json::{No, Result};
use crate::numbers::{gap_between, NO_INDEX};

/// Of larger groups Python looks at all pairs.
const MOST_MEMBERS: usize = 128;

/// Candidates in columns.
pub trait Candidates {
    fn score(&self, number: u32) -> f64;
    fn index(&self, number: u32) -> i64;
    fn response(&self, number: u32) -> Digest;
}

/// What pairs must keep to.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub least_chosen: f64,
    pub least_gap: f64,
    pub largest_gap: f64,
    /// So many pairs of a group, the widest ones.
    pub most_pairs: usize,
}

/// The bounds that leave pairs out; one that fails several of them counts for the first.
pub const LEFT_OUT: [&str; 4] =
    ["score_too_low", "gap_too_small", "gap_too_large", "over_per_group"];

/// The pairs of a group.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Decided {
    pub pairs: Vec<(u32, u32)>,
    /// Why there are none.
    pub no_pair: Option<&'static str>,
    /// How many pairs each bound left out.
    pub left_out: [usize; LEFT_OUT.len()],
}

impl Decided {
    fn without(no_pair: &'static str) -> Self {
        Decided { no_pair: Some(no_pair), ..Decided::default() }
    }

    /// One pair is wanted, and this bound is the first that none meets.
    fn failing(bound: usize) -> Self {
        let mut decided = Self::without("none_allowed");
        decided.left_out[bound] = 1;
        decided
    }
}

/// The widest pair of a group. Its members are sorted, best first.
///
/// `No` where Python must decide: copies of one rollout, too many pairs, odd scores.
pub fn best_vs_worst(
    columns: &impl Candidates,
    members: &mut [u32],
    bounds: &Bounds,
) -> Result<Decided> {
    rank(columns, members)?;
    if let Some(reason) = hopeless(columns, members) {
        return Ok(Decided::without(reason));
    }
    let (best, low) = (members[0], columns.score(members[members.len() - 1]));
    let worst = members.iter().copied().find(|member| columns.score(*member) == low);
    if let Some(worst) = worst.filter(|worst| columns.response(*worst) != columns.response(best)) {
        match failed(bounds, columns.score(best), low)? {
            (_, None) => return Ok(Decided { pairs: vec![(best, worst)], ..Decided::default() }),
            (_, Some(bound @ (0 | 1))) => return Ok(Decided::failing(bound)), // so do all others
            _ => {}
        }
    }
    let (pairs, left_out) = allowed(columns, members, bounds)?;
    if let Some(widest) = pairs.first() {
        return Ok(Decided { pairs: vec![*widest], ..Decided::default() });
    }
    let mut rest: usize = left_out.iter().sum();
    let ends = left_out.iter().position(|number| {
        rest -= number;
        rest == 0
    });
    Ok(Decided::failing(ends.unwrap_or_default()))
}

/// All pairs of a group, widest first. Its members are sorted, best first; `No` as above.
pub fn exhaustive(
    columns: &impl Candidates,
    members: &mut [u32],
    bounds: &Bounds,
) -> Result<Decided> {
    rank(columns, members)?;
    if let Some(reason) = hopeless(columns, members) {
        return Ok(Decided::without(reason));
    }
    let (mut pairs, mut left_out) = allowed(columns, members, bounds)?;
    left_out[3] = pairs.len().saturating_sub(bounds.most_pairs);
    pairs.truncate(bounds.most_pairs);
    let no_pair = Some("none_allowed").filter(|_| pairs.is_empty());
    Ok(Decided { pairs, no_pair, left_out })
}

/// Why a group has no pair, whatever the bounds are.
fn hopeless(columns: &impl Candidates, members: &[u32]) -> Option<&'static str> {
    let first = columns.response(members[0]);
    let ends = [members[0], members[members.len() - 1]].map(|member| columns.score(member));
    if members.len() < 2 {
        Some("one_candidate")
    } else if members.iter().all(|member| columns.response(*member) == first) {
        Some("same_answer")
    } else if ends[0] == ends[1] {
        Some("all_tied")
    } else {
        None
    }
}

/// The gap of two scores, and the first of `LEFT_OUT` that it fails.
fn failed(bounds: &Bounds, high: f64, low: f64) -> Result<(f64, Option<usize>)> {
    if high < bounds.least_chosen {
        return Ok((0.0, Some(0)));
    }
    let gap = gap_between(high, low)?;
    let bound = if gap < bounds.least_gap {
        Some(1)
    } else if gap > bounds.largest_gap {
        Some(2)
    } else {
        None
    };
    Ok((gap, bound))
}

type Pairs = (Vec<(u32, u32)>, [usize; LEFT_OUT.len()]);

/// All pairs within the bounds, widest first, then by the chosen one, then the worst first; and how
/// many the bounds leave out.
fn allowed(columns: &impl Candidates, members: &[u32], bounds: &Bounds) -> Result<Pairs> {
    if members.len() > MOST_MEMBERS {
        return Err(No::Odd);
    }
    let mut left_out = [0; LEFT_OUT.len()];
    let mut pairs = Vec::new();
    let mut worst_first = members.to_vec();
    worst_first.sort_by(|one, other| columns.score(*one).total_cmp(&columns.score(*other)));
    for better in members.iter().copied() {
        let (high, answer) = (columns.score(better), columns.response(better));
        let lower = worst_first.iter().copied().take_while(|worse| columns.score(*worse) < high);
        for worse in lower.filter(|worse| columns.response(*worse) != answer) {
            match failed(bounds, high, columns.score(worse))? {
                (gap, None) => pairs.push((gap, better, worse)),
                (_, Some(bound)) => left_out[bound] += 1,
            }
        }
    }
    pairs.sort_by(|one, other| other.0.total_cmp(&one.0)); // equal gaps stay in order
    Ok((pairs.into_iter().map(|(_, better, worse)| (better, worse)).collect(), left_out))
}

/// Sort the members of a group, best first; `No` if their order may depend on more than columns.
///
/// It does not if each has an index of its own, or none has one and each has its own answer.
fn rank(columns: &impl Candidates, members: &mut [u32]) -> Result<()> {
    let without = members.iter().filter(|member| columns.index(**member) == NO_INDEX).count();
    let distinct = if without == 0 {
        members.sort_by_key(|member| columns.index(*member));
        members.windows(2).all(|two| columns.index(two[0]) != columns.index(two[1]))
    } else if without == members.len() {
        members.sort_by_key(|member| columns.response(*member));
        members.windows(2).all(|two| columns.response(two[0]) != columns.response(two[1]))
    } else {
        false
    };
    if !distinct || members.iter().any(|member| !columns.score(*member).is_finite()) {
        return Err(No::Odd);
    }
    members.sort_by(|one, other| columns.score(*other).total_cmp(&columns.score(*one)));
    if members.is_empty() {
        Err(No::Odd)
    } else {
        Ok(())
    }
}

/// Fill in all candidates, group by group in order of arrival, and where each group starts, which is
/// zero before; the last start is the end of all.
pub fn by_group(
    group_of: impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + Clone,
    numbers: &[Cell<u32>],
    starts: &[Cell<u32>],
) {
    for group in group_of.clone() {
        let size = &starts[group as usize];
        size.set(size.get() + 1);
    }
    let mut sum = 0;
    for start in starts {
        sum += start.get();
        start.set(sum);
    }
    for (number, group) in group_of.enumerate().rev() {
        let start = &starts[group as usize];
        start.set(start.get() - 1);
        numbers[start.get() as usize].set(number as u32);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{best_vs_worst, by_group, exhaustive, Bounds, Candidates, Decided};
    use crate::identity::Digest;
    use crate::json::Result;
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

    const NONE: Bounds = Bounds {
        least_chosen: f64::NEG_INFINITY,
        least_gap: 0.0,
        largest_gap: f64::INFINITY,
        most_pairs: usize::MAX,
    };

    fn members(candidates: &[(f64, i64, u8)]) -> Vec<u32> {
        (0..candidates.len() as u32).collect()
    }

    fn widest(candidates: &[(f64, i64, u8)], bounds: Bounds) -> Result<Decided> {
        best_vs_worst(&Few(candidates.to_vec()), &mut members(candidates), &bounds)
    }

    fn all(candidates: &[(f64, i64, u8)], bounds: Bounds) -> Decided {
        exhaustive(&Few(candidates.to_vec()), &mut members(candidates), &bounds).expect("clear")
    }

    fn pair(better: u32, worse: u32) -> Result<Decided> {
        Ok(Decided { pairs: vec![(better, worse)], ..Decided::default() })
    }

    #[test]
    fn ties_go_by_index_or_else_by_answer() {
        let group = [(0.5, 1, 1), (1.0, 5, 2), (0.0, 9, 3), (1.0, 2, 4), (0.0, 3, 5)];
        assert_eq!(widest(&group, NONE), pair(3, 4));
        let group = group.map(|(score, _, answer)| (score, NO_INDEX, answer));
        assert_eq!(widest(&group, NONE), pair(1, 2));
    }

    #[test]
    fn groups_without_a_pair() {
        let without = |candidates: &[(f64, i64, u8)]| {
            assert_eq!(widest(candidates, NONE), Ok(all(candidates, NONE)));
            all(candidates, NONE).no_pair
        };
        let two = |high: f64, answer: u8| [(high, 1, 1), (0.5, 2, answer)];
        assert_eq!(without(&two(1.0, 2)[..1]), Some("one_candidate"));
        assert_eq!(without(&two(0.5, 1)), Some("same_answer"));
        assert_eq!(without(&two(0.5, 2)), Some("all_tied"));
        assert_eq!(without(&two(1.0, 1)), Some("same_answer"));
        assert_eq!(without(&two(1.0, 2)), None);
    }

    #[test]
    fn copies_of_one_rollout_are_unclear() {
        for group in [
            [(1.0, 1, 1), (0.0, 1, 2)],
            [(1.0, 1, 1), (0.0, NO_INDEX, 2)],
            [(1.0, NO_INDEX, 1), (0.0, NO_INDEX, 1)],
            [(1.0, 1, 1), (f64::NAN, 2, 2)],
        ] {
            assert!(widest(&group, NONE).is_err());
        }
    }

    #[test]
    fn the_widest_pair_has_different_answers_and_meets_the_bounds() {
        assert_eq!(widest(&[(1.0, 1, 1), (0.5, 2, 2), (0.0, 3, 1)], NONE), pair(0, 1));
        let group = [(0.9, 1, 1), (0.8, 2, 2), (0.1, 3, 3)]; // as doubles, 0.9 - 0.8 is below 0.1
        let few = |least_gap| widest(&group[..2], Bounds { least_gap, ..NONE });
        assert_eq!(few(0.1), pair(0, 1));
        let failing = |bounds| widest(&group, bounds).map(|decided| decided.left_out);
        assert_eq!(few(0.11).map(|decided| decided.left_out), Ok([0, 1, 0, 0]));
        let above = |least_chosen| Bounds { least_chosen, least_gap: 0.9, ..NONE };
        assert_eq!(failing(above(0.9)), Ok([0, 1, 0, 0]));
        assert_eq!(failing(above(0.91)), Ok([1, 0, 0, 0]));
        let below = |largest_gap| Bounds { largest_gap, ..NONE };
        assert_eq!(widest(&group, below(0.8)), pair(0, 2));
        assert_eq!(widest(&group, below(0.79)), pair(1, 2));
        assert_eq!(failing(below(0.01)), Ok([0, 0, 1, 0]));
    }

    #[test]
    fn all_pairs_come_widest_first() {
        let group = [(1.0, 1, 1), (0.5, 2, 2), (0.5, 3, 1), (0.0, 4, 3)];
        assert_eq!(all(&group, NONE).pairs, [(0, 3), (0, 1), (1, 3), (2, 3)]);
        let bounds = Bounds { least_chosen: 0.6, largest_gap: 0.9, most_pairs: 1, ..NONE };
        let decided = all(&group, bounds);
        assert_eq!((decided.pairs, decided.left_out), (vec![(0, 1)], [2, 0, 1, 0]));
        let decided = all(&group, Bounds { least_gap: 0.5, most_pairs: 3, ..NONE });
        assert_eq!((decided.pairs.len(), decided.left_out), (3, [0, 0, 0, 1]));
    }

    #[test]
    fn groups_keep_the_order_of_arrival() {
        let (numbers, starts) = ([const { Cell::new(0) }; 4], [const { Cell::new(0) }; 5]);
        by_group([1, 0, 1, 3].into_iter(), &numbers, &starts);
        assert_eq!(numbers.map(Cell::into_inner), [1, 0, 2, 3]);
        assert_eq!(starts.map(Cell::into_inner), [0, 1, 3, 3, 4]);
    }
}
