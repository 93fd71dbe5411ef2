"""What to do next: after a good run, and after one that gave nothing."""

from collections.abc import Sequence

from prefpairs.cli.terminal.error_text import plural, visible
from prefpairs.ledger import Ledger
from prefpairs.model.message import Message, Text
from prefpairs.plan import InputPlan, ReadPlan
from prefpairs.reasons import ALL, CONFLICTING
from prefpairs.sources import GENERIC, SOURCES, source_named

_SHOWN = 240
_OF_LOSSES = {
    "no_score": "--score PATH names the field that holds the score",
    "no_prompt": "--prompt PATH names the field that holds the prompt",
    "no_response": "--response PATH names the field that holds the response",
    "no_group": "--group-by names a field that no row has",
}
_OF_GROUPS = {
    "no_candidate": "no group has a candidate left; see the reasons above",
    "one_candidate": "no prompt has two answers to compare; generate several rollouts per prompt, "
    "or compare answers to different prompts with --strategy stratified --across-prompts",
    "same_answer": "in every group all answers are the same",
    "all_tied": "in every group all scores are equal, so nothing is preferred",
    "none_allowed": "--min-gap and the other bounds leave no pair; try smaller ones",
}


def why_nothing(command: str, ledger: Ledger) -> str | None:
    """The likeliest reason for an empty result, with the option that changes it."""
    if not ledger.rows_read and ledger.skipped_files:
        _, writer = ledger.skipped_files[0]
        return f"{writer} writes such files beside its rollouts; --from {GENERIC} reads them"
    if not ledger.rows_read:
        return "there were no rows to read"
    if any(stage.dropped for stage in ledger.stages):
        return _largest_loss(command, ledger)
    if ledger.groups_without_pair and command == "pair":
        return _why_no_group(ledger)
    if ledger.groups:
        return "no answer at --high-threshold or above may meet one at --low-threshold or below"
    return _largest_loss(command, ledger)


def _why_no_group(ledger: Ledger) -> str:
    if _were_judged_twice(ledger):
        return "the same answers were judged twice, with different scores"
    reason, count = ledger.groups_without_pair.most_common(1)[0]
    return f"{plural(count, 'group')}: {_OF_GROUPS[reason]}"


def ways_out(ledger: Ledger, plan: InputPlan) -> Sequence[tuple[str, str]]:
    """Options that let answers compete which were judged twice, where nearly all were."""
    if not (_were_judged_twice(ledger) and isinstance(plan, ReadPlan)):
        return ()
    if CONFLICTING in plan.options.drop_rows:  # which was asked for
        return ()
    keep = "--keep-rows", CONFLICTING
    files = len(ledger.sources) > 1 and plan.options.group_by == "auto"
    return [("--group-by", "file"), keep] if files else [keep]


def _were_judged_twice(ledger: Ledger) -> bool:
    """Whether no group has two answers, and some had before copies of them were dropped."""
    alone = ledger.groups_without_pair["no_candidate"] + ledger.groups_without_pair["one_candidate"]
    return ledger.candidates_dropped[CONFLICTING] > 0 and alone == ledger.groups


def _largest_loss(command: str, ledger: Ledger) -> str | None:
    stage = max(ledger.stages, key=lambda stage: stage.dropped.total(), default=None)
    if stage is not None and stage.dropped:
        reason, count = stage.dropped.most_common(1)[0]
        return f"{stage.name} dropped {plural(count, 'pair')}: {ALL[reason]}"
    losses = ledger.rows_dropped or ledger.candidates_dropped
    if not losses:
        return None
    reason, count = losses.most_common(1)[0]
    advice = _advice(reason, ledger) if command in ("extract", "pair") else None
    return f"{plural(count, 'row')}: {ALL[reason]}" + (f"; {advice}" if advice else "")


def _advice(reason: str, ledger: Ledger) -> str | None:
    """What to do about a reason, as the sources that read the rows know best."""
    names = {name for _, name in ledger.sources}
    of_sources = [source_named(name).advice for name in SOURCES if name in names]
    return next((advice[reason] for advice in (*of_sources, _OF_LOSSES) if reason in advice), None)


def next_steps(command: str, ledger: Ledger, output: str) -> str:
    """An example of what was made, and the next command to type."""
    if command == "extract" and output != "-":
        return f"\nnext: prefpairs pair {visible(output)} -o pairs.jsonl\n"
    if ledger.example is None:
        return ""
    prompt, chosen, rejected = map(_glimpse, ledger.example)
    example = f"\nexample\n  prompt    {prompt}\n  chosen    {chosen}\n  rejected  {rejected}\n"
    if output == "-" or command == "split":
        return example
    return f"{example}\nnext: prefpairs split {visible(output)} --val-fraction 0.1 --out-dir data\n"


def _glimpse(text: Text) -> str:
    """The end of a prompt, or of an answer, on one line."""
    words = text if isinstance(text, str) else _last_words(text)
    line = " ".join(visible(words).replace("\\n", " ").split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def _last_words(messages: list[Message]) -> str:
    last = messages[-1]
    calls = [call["function"]["name"] for call in last.get("tool_calls", [])]
    return f"{last['content']}" + "".join(f" [calls {name}]" for name in calls)
