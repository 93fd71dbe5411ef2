"""Chat templates and tokenizers are foreign programs: their time and memory are bounded."""

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hostile_kit import run
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from prefpairs.chat import template as of_template
from prefpairs.chat.template import compiled, facts_of
from prefpairs.errors import BadInput, FileError, UsageError
from prefpairs.files import tokenizer as of_tokenizer
from prefpairs.limited_process import Limited, OverBudget, Refusal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits need a forked process")

CHAT = "{% for m in messages %}{{ m.content }}{% endfor %}"
GROWS = "{% set ns = namespace(a=[], b=[], s='x') %}{% for i in range(99) %}"
LARGE = [
    "{{ 'x' * 10**10 }}",
    "{{ [0] * 10**11 }}",
    "{{ '%9999999999d' % 1 }}",
    "{{ '{:>9999999999}'.format(1) }}",
    "{{ 'x'.ljust(10**10) }}",
    "{{ 'x' | center(10**10) }}",
    "{{ messages | tojson(indent=10**10) }}",
    "{{ [1] | batch(10**10, 'x') | list }}",
    GROWS + "{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
]
ENDLESS = [
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{{ (messages | length + 9) ** (10**9) }}",
    "{{ 1 | round(10**9, 'ceil') }}",
    GROWS
    + "{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}{{ ns.a == ns.b }}",
]
CHANCE = ["{{ [1, 2] | random }}", "{{ lipsum(n=2) }}"]
OF_JSON = ["{{ messages | tojson(default='{0.__class__}'.format) }}", "{{ 1 | tojson(cls=dict) }}"]


@pytest.fixture(name="pairs")
def _pairs(tmp_path: Path) -> Path:
    """A file of one pair."""
    turns = [{"role": role, "content": "Hello."} for role in ("user", "assistant")]
    other = [{"role": "assistant", "content": "Bye."}]
    row = {"prompt": turns[:1], "chosen": turns[1:], "rejected": other}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row) + "\n")
    return tmp_path / "pairs.jsonl"


@pytest.mark.parametrize("code", LARGE)
def test_a_template_that_takes_memory(code: str, pairs: Path) -> None:
    """A template that uses too much memory ends with an error; our process uses none of it."""
    (pairs.parent / "t.jinja").write_text(code + CHAT)
    words: list[str | Path] = [
        "export",
        "--to",
        "openrlhf",
        "--template",
        pairs.parent / "t.jinja",
        pairs,
    ]
    code_, said, peak = run(*words)
    assert (code_, "t.jinja" in said, peak < 80) == (2, True, True), (said, peak)
    assert "--template: it takes more than 1 GB of memory" in said


@pytest.mark.parametrize("code", ENDLESS)
def test_a_template_without_end(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless template is stopped, even where Python itself cannot be interrupted."""
    monkeypatch.setattr(of_template, "Limited", lambda begin: Limited(begin, 0.3))
    with pytest.raises(UsageError, match=r"--template: it takes more than 0\.3 seconds"):
        facts_of(code + CHAT)


@pytest.mark.stress
@pytest.mark.parametrize("code", ENDLESS)
def test_a_template_without_end_through_the_command_line(code: str, pairs: Path) -> None:
    """The command line stops an endless template after ten seconds of processor time."""
    (pairs.parent / "t.jinja").write_text(code + CHAT)
    words: list[str | Path] = [
        "export",
        "--to",
        "openrlhf",
        "--template",
        pairs.parent / "t.jinja",
        pairs,
    ]
    assert run(*words)[0] == 2


def test_a_template_that_is_bad_on_some_rows_alone() -> None:
    """Each text has its own budget; a template that was stopped is started again."""
    template = compiled("{% if messages[0].content == 'x' %}{{ 'x' * 10**10 }}{% endif %}" + CHAT)
    for _ in range(2):
        assert template.render(messages=[{"role": "user", "content": "y"}]) == "y"
        with pytest.raises(UsageError, match="it takes more than 1 GB of memory"):
            template.render(messages=[{"role": "user", "content": "x"}])


@pytest.mark.parametrize("code", CHANCE + OF_JSON)
def test_a_template_that_asks_for_what_is_not_there(code: str) -> None:
    """Random choice is rejected, since each run would differ, and so are calls on JSON values."""
    with pytest.raises(UsageError, match="--template: "):
        facts_of(code + CHAT)


def _crash(_: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return b""


def _sleepless(_: bytes) -> bytes:
    return bytes(sum(1 for _ in iter(int, 1)))


def _raise(question: bytes) -> bytes:
    raise ValueError(question.decode())


def test_answers() -> None:
    """Answers of any length come in order; exceptions in the process are raised here."""
    echo = Limited(lambda: lambda question: question[::-1])
    for question in (b"", b"abc", os.urandom(3_000_000)):
        assert echo(question) == question[::-1]
    with pytest.raises(Refusal, match="no such thing"):
        Limited(lambda: _raise)(b"no such thing")
    for work, words in ((_crash, "or crashes"), (_sleepless, "0.2 seconds")):
        asked = Limited(lambda work=work: work, 0.2)  # type: ignore[misc]
        for _ in range(2):
            with pytest.raises(OverBudget, match=words):
                asked(b"")


def _kill(_: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def _killed_once(question: bytes) -> bytes:
    """Answers if a file exists; otherwise creates it and kills its own process."""
    try:
        Path(question.decode()).touch(exist_ok=False)
    except FileExistsError:
        return b"answered"
    return _kill(b"")


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_is_killed_between_questions(ending: signal.Signals) -> None:
    """A process killed between questions is no fault of its program: another process answers."""
    asked = Limited(lambda: lambda question: str(os.getpid()).encode() + question)
    first = int(asked(b""))
    os.kill(first, ending)
    second = int(asked(b""))
    assert second != first
    assert int(asked(b"")) == second


def test_a_process_that_is_killed_while_it_answers(tmp_path: Path) -> None:
    """A question whose process is killed is asked once more; a second kill is the error."""
    assert Limited(lambda: _killed_once)(str(tmp_path / "once").encode()) == b"answered"
    always = Limited(lambda: _kill)
    for _ in range(2):
        with pytest.raises(FileError, match=r"was killed twice \(SIGKILL\)"):
            always(b"")


def test_nothing_is_left_behind() -> None:
    """Neither processes nor open files are left behind."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = os.listdir("/proc/self/fd"), children.read_text()
    for _ in range(3):
        asked = Limited(lambda: lambda question: question)
        assert asked(b"x") == b"x"
        asked.close()
    assert (os.listdir("/proc/self/fd"), children.read_text()) == before


def test_a_forked_process_asks_its_own() -> None:
    """A forked process gets its own helper; sharing one would mix up the answers."""
    asked = Limited(lambda: lambda question: question)
    assert asked(b"ours") == b"ours"
    pid = os.fork()
    if pid == 0:
        os._exit(0 if asked(b"theirs") == b"theirs" else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert asked(b"ours") == b"ours"


def tokenizer() -> dict[str, Any]:
    """A byte-level tokenizer."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate([*letters, "aa", "aaaa"])}
    made = Tokenizer(models.BPE(vocabulary, [("a", "a"), ("aa", "aa")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    read: dict[str, Any] = json.loads(made.to_str())
    return read


def replacing(times: int) -> dict[str, Any]:
    """A normalizer that replaces each character by sixteen, repeatedly."""
    one = {"type": "Replace", "pattern": {"Regex": "[^q]"}, "content": "a" * 16}
    return {"type": "Sequence", "normalizers": [one] * times}


def decoding(*pairs: tuple[str, str]) -> dict[str, Any]:
    """A decoder that applies replacements to the joined text."""
    of = [decoders.Fuse(), *(decoders.Replace(a, b) for a, b in pairs), decoders.ByteLevel()]
    read: dict[str, Any] = json.loads(decoders.Sequence(of).__getstate__())
    return read


BAD: list[dict[str, Any]] = [
    {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "////////"}},
    {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAAA"}},
    {"normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "xx"}},
    {"normalizer": replacing(9)},
    {"normalizer": replacing(3)},
    {"decoder": decoding(("z", "z" * 3_000_000))},
    {"decoder": decoding(("zzz", "z" * 1_000))},
    {"decoder": decoding(("q", "z" * 16), ("z", "x" * 16))},
    {"normalizer": {"type": "Replace", "pattern": {"String": "zq"}, "content": "z" * 9_999}},
    {"normalizer": {
        "type": "Sequence", "normalizers": [
            {"type": "Lowercase"},
            {"type": "Replace", "pattern": {"String": "\u00df"}, "content": "z" * 3_000_000},
        ],
    }},
    {"normalizer": {"type": "Replace", "pattern": {"String": "zq"}, "content": "z" * 999}},
    {"normalizer": {"type": "Prepend", "prepend": "z" * 999}},
    {"pre_tokenizer": {"type": "FixedLength", "length": 0}},
    {"pre_tokenizer": {
        "type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False,
    }},
    {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]}},
    {"version": "7"},
]  # fmt: skip


@pytest.mark.parametrize("change", BAD, ids=lambda change: json.dumps(change)[:40])
@pytest.mark.parametrize("command", ["filter", pytest.param("export", marks=pytest.mark.stress)])
def test_a_bad_tokenizer(change: dict[str, Any], command: str, pairs: Path) -> None:
    """An error names the tokenizer's file and shows none of the library's own output."""
    folder = pairs.parent
    (folder / "tokenizer.json").write_text(json.dumps({**tokenizer(), **change}))
    (folder / "chat_template.jinja").write_text(CHAT)
    words: list[str | Path] = [
        "filter",
        "--max-tokens",
        "99",
        "--tokenizer",
        folder / "tokenizer.json",
    ]
    if command == "export":
        words = ["export", "--to", "tokens", "--tokenizer", folder]
    code, said, _ = run(*words, pairs)
    assert code == 1, said
    assert said.startswith("error: "), said
    assert re.search("tokenizer.json: not a (usable )?tokenizer.json", said)
    assert "panicked" not in said


def test_a_tokenizer_that_panics_on_a_text(pairs: Path) -> None:
    """A panic on a text is an error, even if it does not happen in the first trial."""
    made = tokenizer()
    split = {"type": "Split", "pattern": {"Regex": "(z+)+$"}, "behavior": "Isolated"}
    made["pre_tokenizer"] = {**split, "invert": False}
    (pairs.parent / "tokenizer.json").write_text(json.dumps(made))
    row = {"prompt": "Q", "chosen": "z" * 60 + "!", "rejected": "b"}
    pairs.write_text(json.dumps(row) + "\n")
    words: list[str | Path] = ["--max-tokens", "99", "--tokenizer", pairs.parent / "tokenizer.json"]
    code, said, _ = run("filter", *words, pairs)
    assert (code, "tokenizer.json: it cannot encode a text" in said) == (1, True)
    assert "Traceback" not in said


def growing(times: int) -> dict[str, Any]:
    """A normalizer that turns each `z` into a thousand, repeatedly, and changes nothing else."""
    one = {"type": "Replace", "pattern": {"Regex": "z"}, "content": "z" * 1000}
    return {"type": "Sequence", "normalizers": [one] * times}


def tried_on(text: str, change: dict[str, Any], pairs: Path) -> tuple[int, str, int]:
    """The result of `filter` on a text with a modified byte-level tokenizer."""
    path = pairs.parent / "tokenizer.json"
    path.write_text(json.dumps({**tokenizer(), **change}))
    pairs.write_text(json.dumps({"prompt": "Q", "chosen": text, "rejected": "b"}) + "\n")
    return run("filter", "--max-tokens", "99", "--tokenizer", path, pairs)


def test_a_tokenizer_that_grows_on_some_texts_alone(pairs: Path) -> None:
    """A tokenizer that grows on some texts is stopped in its own process; other texts are fine."""
    code, said, peak = tried_on("z" * 40, {"normalizer": growing(4)}, pairs)
    assert (code, "tokenizer.json: it cannot encode a text: it takes more" in said) == (
        1,
        True,
    )
    assert ("Traceback" in said, peak < 150) == (False, True)
    assert tried_on("a" * 40, {"normalizer": growing(4)}, pairs)[0] == 0


def test_a_tokenizer_that_takes_its_time_on_some_texts_alone(
    pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A regular expression that takes quadratic time on some texts is stopped."""
    path = pairs.parent / "tokenizer.json"
    slow = {"type": "Replace", "pattern": {"Regex": "z.*y"}, "content": "x"}
    path.write_text(json.dumps({**tokenizer(), "normalizer": slow}))
    monkeypatch.setattr(of_tokenizer, "SECONDS", 0.3)
    tokens = of_tokenizer.Tokens(str(path))
    assert tokens.encode("az") == ([tokens.id_of("a"), tokens.id_of("z")], [(0, 1), (1, 2)])
    for _ in range(2):
        with pytest.raises(
            BadInput, match=r"it cannot encode a text: it takes more than 0\.3 seconds"
        ):
            tokens.encode("z" * 400_000)
    assert len(tokens.encode("some other words, \u00e9\u4e16\U0001f600")[0]) > 10


def of_words(**more: Any) -> dict[str, Any]:
    """A tokenizer with a few words."""
    vocabulary = {"u": 0, "a": 1, "##a": 2, "a" * 40 + "!": 3}
    marks = {"unk_token": "u", "continuing_subword_prefix": "##"}
    model = {"type": "WordPiece", **marks, "max_input_chars_per_word": 10**9, "vocab": vocabulary}
    return {**tokenizer(), "pre_tokenizer": None, "decoder": None, "model": model, **more}


def test_a_model_that_takes_its_time(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that looks up every piece of long words is stopped."""
    path = pairs.parent / "tokenizer.json"
    path.write_text(json.dumps(of_words()))
    monkeypatch.setattr(of_tokenizer, "SECONDS", 0.3)
    tokens = of_tokenizer.Tokens(str(path))
    with pytest.raises(BadInput, match=r"it cannot encode a text: it takes more than 0\.3 seconds"):
        tokens.encode("a" * 20_000)
    assert tokens.encode("aa")[0] == [1, 2]


def test_a_decoder_that_takes_its_time(
    pairs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A slow or panicking decoder ends with an error and shows nothing else."""
    path = pairs.parent / "tokenizer.json"
    regex = {"type": "Replace", "pattern": {"Regex": "(?:a|aa|aaa)+$"}, "content": ""}
    path.write_text(json.dumps(of_words(decoder=regex)))
    monkeypatch.setattr(of_tokenizer, "SECONDS", 0.001)
    decoder = of_tokenizer.open_decoder(str(path))
    for _ in range(2):
        with pytest.raises(
            BadInput, match=r"it cannot decode tokens: it takes more than 0\.001 seconds"
        ):
            decoder.text([3] * 100_000)
    monkeypatch.setattr(of_tokenizer, "SECONDS", 10)
    decoder = of_tokenizer.open_decoder(str(path))
    with pytest.raises(BadInput, match=r"it cannot decode tokens .*retry-limit"):
        decoder.text([3])
    assert decoder.text([0, 2]) == "u##"
    assert capfd.readouterr() == ("", "")


def test_dropout_is_switched_off(pairs: Path) -> None:
    """Dropout is disabled, or each run would produce other tokens."""
    folder = pairs.parent
    (folder / "chat_template.jinja").write_text(CHAT)
    row = {"prompt": [{"role": "user", "content": "a" * 400}]}
    row |= {side: [{"role": "assistant", "content": side * 99}] for side in ("chosen", "rejected")}
    pairs.write_text(json.dumps(row) + "\n")
    written = []
    for dropout in (None, 0.5, 0.5):
        made = tokenizer()
        made["model"]["dropout"] = dropout
        (folder / "tokenizer.json").write_text(json.dumps(made))
        words: list[str | Path] = [
            "export",
            "--to",
            "tokens",
            "--tokenizer",
            folder,
            pairs,
            "-o",
            folder / "out",
        ]
        assert run(*words)[0] == 0
        written.append((folder / "out").read_bytes())
    assert written[0] == written[1] == written[2]
