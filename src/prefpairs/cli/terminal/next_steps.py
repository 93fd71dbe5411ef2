"""What to do next, after a successful run and after one without output."""

from collections.abc import Sequence

from prefpairs.cli.terminal.safe_text import plural, printable
from prefpairs.ledger import PAIRING, Ledger
from prefpairs.model.json_codec import encode_pretty
from prefpairs.model.message import Message, Text
from prefpairs.plan import InputPlan, ReadPlan
from prefpairs.reasons import ALL, CONFLICTING
from prefpairs.sources import GENERIC, SOURCES, source_named

_SHOWN = 240
_OF_LOSSES = {
    "no_score": "name the field of the score with --score PATH",
    "no_prompt": "name the field of the prompt with --prompt PATH",
    "no_response": "name the field of the response with --response PATH",
    "no_group": "--group-by names a field that no row has",
}
_OF_GROUPS = {
    "no_candidate": "all candidates were dropped; see the reasons above",
    "one_candidate": "no prompt has two answers to compare; generate several rollouts per prompt, "
    "or pair answers to different prompts with --strategy stratified --across-prompts",
    "same_answer": "all answers of each group are the same",
    "all_tied": "all scores of each group are equal, so no answer is preferred",
    "none_allowed": "no pair is within --min-gap and the other limits; try wider limits",
}


def why_no_output(command: str, ledger: Ledger) -> str | None:
    """The most likely reason for an empty result, with the option that changes it."""
    if not ledger.rows_read and ledger.skipped_files:
        _, writer = ledger.skipped_files[0]
        return f"{writer} writes such files next to its rollouts; --from {GENERIC} reads them"
    if not ledger.rows_read:
        return "the input has no rows"
    if any(stage.dropped for stage in ledger.stages if stage.name != PAIRING):
        return _largest_loss(command, ledger)
    if ledger.groups_without_pair and command == "pair":
        return _why_no_group(ledger)
    if ledger.groups:
        return (
            "there is no pair of a score from --high-threshold up and one from --low-threshold down"
        )
    return _largest_loss(command, ledger)


def _why_no_group(ledger: Ledger) -> str:
    if _were_judged_twice(ledger):
        return "the same answers were judged twice with different scores"
    reason, count = ledger.groups_without_pair.most_common(1)[0]
    return f"{plural(count, 'group')}: {_advice(reason, ledger)}"


def retry_options(ledger: Ledger, plan: InputPlan) -> Sequence[tuple[str, str]]:
    """Options that use answers judged twice, if losing those left no pairs."""
    if not (_were_judged_twice(ledger) and isinstance(plan, ReadPlan)):
        return ()
    if CONFLICTING in plan.options.drop_rows:  # the user asked for it
        return ()
    keep = "--keep-rows", CONFLICTING
    files = len(ledger.sources) > 1 and plan.options.group_by == "auto"
    return [("--group-by", "file"), keep] if files else [keep]


def _were_judged_twice(ledger: Ledger) -> bool:
    """Whether dropping answers with conflicting scores left no group with two answers."""
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
    """What to do about a reason; the sources' advice comes first."""
    names = {name for _, name in ledger.sources}
    of_sources = [source_named(name).advice for name in SOURCES if name in names]
    return next(
        (advice[reason] for advice in (*of_sources, _OF_LOSSES, _OF_GROUPS) if reason in advice),
        None,
    )


def example_pair(prompt: Text, chosen: Text, rejected: Text) -> str:
    """The texts of a pair as JSON, all of them."""
    whole = encode_pretty({"prompt": prompt, "chosen": chosen, "rejected": rejected}).decode()
    return "\nexample\n" + "".join(f"{printable(line)}\n" for line in whole[:-1].split("\n"))


def next_steps(command: str, ledger: Ledger, output: str) -> str:
    """An example pair, and the next command to type."""
    if command == "extract" and output != "-":
        return f"\nnext: prefpairs pair {printable(output)} -o pairs.jsonl\n"
    if ledger.example is None:
        return ""
    prompt, chosen, rejected = map(_glimpse, ledger.example)
    example = f"\nexample\n  prompt    {prompt}\n  chosen    {chosen}\n  rejected  {rejected}\n"
    if output == "-" or command == "split":
        return example
    return (
        f"{example}\nnext: prefpairs split {printable(output)} --val-fraction 0.1 --out-dir data\n"
    )


def _glimpse(text: Text) -> str:
    """The end of a prompt or an answer, on one line."""
    words = text if isinstance(text, str) else _last_words(text)
    line = " ".join(printable(words).replace("\\n", " ").split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def _last_words(messages: list[Message]) -> str:
    last = messages[-1]
    calls = [call["function"]["name"] for call in last.get("tool_calls", [])]
    return f"{last['content']}" + "".join(f" [calls {name}]" for name in calls)
