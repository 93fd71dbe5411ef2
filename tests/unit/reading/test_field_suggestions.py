"""Options suggested when a field cannot be guessed."""

from typing import Any

import pytest

from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.suggestions import comparisons, suggestions

BOTH = ("response", "score")


@pytest.mark.parametrize(
    ("row", "missing", "offered"),
    [
        (
            {"response_1": "A", "response_2": "B", "score_1": 1, "score_2": 0},
            BOTH,
            ["--response response_1 --score score_1", "--response response_2 --score score_2"],
        ),
        (
            {"gpt_response": "A", "llama_response": "B", "gpt_score": 1, "llama_score": 0},
            BOTH,
            [f"--response {who}_response --score {who}_score" for who in ("gpt", "llama")],
        ),
        ({"my_reply": "A", "quality_v2": 1}, BOTH, ["--response my_reply --score quality_v2"]),
        ({"error_rating": 3, "rank": 1, "quality": 2}, ("score",), ["--score quality"]),
        ({"helpfulness": 3, "verbosity": 1}, ("score",), ["--score helpfulness"]),
        ({"judge": {"score": 5, "why": "short", "rank": 2}}, ("score",), ["--score judge.score"]),
        ({"judge": {"score": "5 of 5"}}, ("score",), []),
        (
            {"d": [{"prompt": "P", "text": "A", "score": 1}, {"prompt": "P", "text": "B"}]},
            BOTH,
            ["--rows d"],
        ),
        (
            {"d": [{"text": "A", "score": 1, "id": "P"}, {"text": "B", "id": "P"}]},
            BOTH,
            ["--response d[].text --score d[].score"],
        ),
    ],
)
def test_what_is_offered(row: dict[str, Any], missing: tuple[str, ...], offered: list[str]) -> None:
    """Suggests a score named like the answer; never one for which less is better."""
    given = {"score": lambda read: read.scores, "response": lambda read: read.response}
    found = suggestions(row, missing, ReadOptions(), given[missing[0]])
    assert [" ".join(words) for words in found] == offered


@pytest.mark.parametrize(
    ("row", "offered"),
    [
        ({"response_a": "x", "response_b": "y", "winner": "A"}, "winner response_a response_b"),
        ({"output1": "x", "output2": "y", "preference": "B"}, "preference output1 output2"),
        ({"answerA": "x", "answerB": "y", "label": "tie"}, "label answerA answerB"),
        ({"response_a": "x", "response_b": "y", "winner": "gpt-4"}, None),
        ({"response_a": "x", "response_b": "y", "winner": 1}, None),
        ({"response_a": "x", "response_b": ["y"], "winner": "A"}, None),
        ({"response_a": "x", "response_c": "y", "winner": "A"}, None),
        ({"response_a": "x", "response_b": "y", "colour": "A"}, None),
    ],
)
def test_comparisons(row: dict[str, Any], offered: str | None) -> None:
    """Two answers and a label of known meaning are offered, under any such column names."""
    found = [" ".join(words[1::2]) for words in comparisons(row)]
    assert found == ([offered] if offered else [])
