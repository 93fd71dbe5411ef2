"""Pairs to tokens: the same number of turns in conversations of 20, 100 and 200 of them.

Tokenizing a conversation again for each of its turns takes quadratic time; here a token costs the
same at any position.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from bench.results import Claim, Finding
from bench.setting import Setting, warm

MODEL = Path(__file__).parents[3] / "sample_data" / "traces" / "model"
TURNS = (20, 100, 200)
WORDS = "The file has a first line, and the assistant reads it with a tool. "
"""Repeated four times per turn: about 200 tokens."""
MOST = 1.5


def tokens(setting: Setting) -> Finding:
    """Compare the CPU time per token."""
    whole = max(setting.scale // 10, TURNS[-1])
    sources = {f"conversations of {turns} turns": _pairs(setting, turns, whole) for turns in TURNS}
    words = ("export", "--quiet", "--to", "tokens", "--tokenizer", MODEL)
    contenders = []
    for name, source in sources.items():
        warm(source)
        contenders.append(
            setting.program(name, (*words, source), setting.output(f"{source.stem}-tokens.jsonl"))
        )
    costs = setting.race(contenders)
    counts = [_count(Path(str(contender.output))) for contender in contenders]
    each = [cost.cpu / count for cost, count in zip(costs.values(), counts, strict=True)]
    claims = [
        Claim(
            what=f"CPU of a token, {turns} turns against {TURNS[0]}",
            value=own / each[0],
            bound=MOST,
            unit="x",
        )
        for turns, own in zip(TURNS[1:], each[1:], strict=True)
    ]
    return Finding(
        case="tokens",
        title="Turns of long conversations to tokens",
        rollouts=whole,
        input_bytes=max(source.stat().st_size for source in sources.values()),
        rounds=setting.rounds,
        baseline=next(iter(sources)),
        costs=costs,
        claims=claims,
        notes=[f"{counts[0]:,} to {max(counts):,} tokens, start-up included"],
    )


def _pairs(setting: Setting, turns: int, whole: int) -> Path:
    """Pairs of conversations with this many turns in total."""
    path = setting.data / f"turns-{turns}-{whole}.jsonl"
    if not path.exists():
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(pair)}\n" for pair in _made(turns, whole // turns))
    return path


def _made(turns: int, count: int) -> Iterator[dict[str, object]]:
    """Half of the turns are the prompt, and half the answers."""
    said = [
        {"role": "tool" if place % 2 else "assistant", "content": f"{place}. {WORDS * 4}"}
        for place in range(turns - 1)
    ]
    for number in range(count):
        asked = [{"role": "user", "content": f"Question {number}"}, *said[: turns // 2 + 1]]
        asked = asked[: len(asked) - (asked[-1]["role"] == "assistant")]
        rest = said[len(asked) - 1 :]
        last = {"role": "assistant", "content": "Done."}
        worse = [*rest, {"role": "assistant", "content": "I give up."}]
        first = [{**rest[0], "content": f"{WORDS} Otherwise."}, *rest[1:]] if rest else []
        yield {"prompt": asked, "chosen": [*first, last], "rejected": worse}


def _count(path: Path) -> int:
    """The number of tokens in the rows."""
    with path.open("rb") as file:
        rows = map(json.loads, file)
        return sum(row["chosen_length"] + row["rejected_length"] for row in rows)
