"""The outcome of a candidate of a group, in words."""

from prefpairs.analysis.candidate_outcome import CandidateOutcome, Obstacle, Others
from prefpairs.engine.store.group_outcomes import Member
from prefpairs.plan import PairPlan
from prefpairs.reasons import ALL
from prefpairs.strategies import STRATEGIES


def describe_outcome(member: Member, pairs: int, plan: PairPlan) -> tuple[str, str]:
    """The outcome of a candidate, and its side, if it is in a pair.

    `pairs` is the number of pairs of its group.
    """
    outcome = member.outcome
    if isinstance(outcome, str):
        return f"dropped: {ALL[outcome]} ({outcome})", ""
    if not outcome.paired:
        return f"not used: {_why_unpaired(outcome, member.number, pairs, plan)}", ""
    phrases = []
    if outcome.chosen_over.count:
        phrases.append(f"chosen over {_named(outcome.chosen_over)}")
    if outcome.rejected_by.count:
        phrases.append(f"rejected in favour of {_named(outcome.rejected_by)}")
    return "; ".join(phrases), "chosen" if outcome.chosen_over.count else "rejected"


def _why_unpaired(outcome: CandidateOutcome, number: int, pairs: int, plan: PairPlan) -> str:
    if outcome.alone:
        return "it is the only candidate in its group"
    if outcome.obstacles:
        found = outcome.obstacles.items()
        return "; ".join(_word_obstacle(kind, _named(others), plan) for kind, others in found)
    if outcome.like is not None:
        kind, other = outcome.like
        same = "answer" if kind is Obstacle.SAME_ANSWER else "score"
        return f"the same {same} as #{other}" + (", which ranks first" if other < number else "")
    enough = (
        ""
        if pairs != plan.options.max_pairs_per_group
        else f", and --max-pairs-per-group {pairs} of them"
    )
    return f"{plan.options.strategy_name} takes {_what_is_taken(plan)}{enough}"


def _what_is_taken(plan: PairPlan) -> str:
    """What a strategy takes, with the values of the options in its description."""
    text = STRATEGIES[plan.options.strategy_name]
    text = text.replace("--high-threshold", f"--high-threshold {plan.options.high_threshold:g}")
    return text.replace("--low-threshold", f"--low-threshold {plan.options.low_threshold:g}")


def _word_obstacle(obstacle: Obstacle, others: str, plan: PairPlan) -> str:
    options = plan.options
    match obstacle:
        case Obstacle.SAME_ANSWER:
            return f"the same answer as {others}"
        case Obstacle.TIE:
            return f"the same score as {others}"
        case Obstacle.NARROW:
            return f"the gap to {others} is below --min-gap {options.min_gap:g}"
        case Obstacle.WIDE:
            return f"the gap to {others} is above --max-gap {options.max_gap:g}"
        case Obstacle.LOW:
            least = options.min_chosen_score
            return f"against {others}, the higher score is below --min-chosen-score {least:g}"


def _named(others: Others) -> str:
    """Candidates, named by their numbers.

    >>> _named(Others([1, 2, 3], 5)), _named(Others([1, 2], 2))
    ('#1, #2, #3 and 2 more', '#1 and #2')
    """
    names = [f"#{number}" for number in others.numbers]
    more = others.count - len(names)
    names += [f"{more:,} more"] if more else []
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
