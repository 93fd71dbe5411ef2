"""Recipes to plans."""

import os
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from prefpairs.cli.recipe import WriteTable, read_recipe
from prefpairs.cli.recipe_plan import Pipeline, outline_of, pipeline_of
from prefpairs.cli.terminal.error_text import word_error
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.errors import FileError, UsageError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.inputs import Input
from prefpairs.ledger import Ledger
from prefpairs.plan import InputPlan, PairPlan, ReadPlan, SievePlan
from prefpairs.stages.dedupe import Dedupe
from prefpairs.stages.filter import Filter
from prefpairs.stages.sample import Sample
from prefpairs.stages.split import Split
from prefpairs.strategies.options import PairOptions

IN = Input("in.jsonl", "in.jsonl")
READ = "[read]\ninputs = 'in.jsonl'\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_bytes(b"x" * 1234)
    Path("more.jsonl").write_bytes(b"y")
    Path("bench.jsonl").write_bytes(b'{"prompt": "Q"}\n')


def _pipeline(text: str, *settings: str, ledger: Ledger | None = None) -> Pipeline:
    Path("r.toml").write_text(text, "utf-8")
    recipe = read_recipe("r.toml", settings)
    return pipeline_of(recipe, recipe.words("write", WriteTable), ledger or Ledger())


def _outline(text: str, *settings: str) -> str:
    pipeline = _pipeline(text, *settings)
    return outline_of(read_recipe("r.toml", settings), pipeline)


def _told(text: str) -> tuple[list[str], str | None]:
    with pytest.raises(UsageError) as caught:
        _pipeline(text)
    return word_error(caught.value)


def test_plan_of_pairs() -> None:
    """Without [pair] the inputs are pairs already."""
    pipeline = _pipeline(
        "[read]\ninputs = ['in.jsonl', 'more.jsonl']\nlimit = 3\non_error = 'skip'\n"
        "temp_dir = '.'\n[sample]\nmax_pairs = 2\n"
    )
    assert pipeline.plan == SievePlan(
        read=InputPlan(inputs=[IN, Input("more.jsonl", "more.jsonl")], limit=3, on_error="skip"),
        sieves=[Sample(max_pairs=2)],
        temp_dir=".",
    )
    assert (pipeline.kind, pipeline.references) == ("dedupe", [])


def test_plan_of_rollouts() -> None:
    """With it they are rollouts; both see the same reading."""
    pipeline = _pipeline(
        f"{READ}from = 'nat'\nscore = 'x:2'\ntemp_dir = '.'\n"
        "[pair]\nstrategy = 'adjacent'\nmin_gap = 0.5\norder = 'key'\n"
    )
    read = ReadPlan(inputs=[IN], source="nat", options=ReadOptions(scores=(("x", 2.0),)))
    assert pipeline.plan == SievePlan(
        read=read,
        pair=PairPlan(
            read=read,
            options=PairOptions(strategy="adjacent", min_gap=0.5, order="key"),
            temp_dir=".",
        ),
        sieves=[],
        temp_dir=".",
    )
    assert pipeline.kind == "pair"


def test_stages_of_a_plan() -> None:
    """In the order in which they stand, each with its own words; [split] parts the rest."""
    plan = _pipeline(
        "[write]\nout_dir = 'd'\n[sample]\nseed = 1\nfraction = 0.5\n[filter]\nmin_gap = 1\n"
        f"{READ}[dedupe]\nby = 'prompt'\n[split]\nseed = 2\nexact = true\n"
    ).plan
    assert plan.sieves == [
        Sample(seed=1, fraction=0.5),
        Filter(min_gap=1.0),
        Dedupe(by=("prompt",)),
    ]
    assert plan.parting == Split(seed=2, exact=True)


def test_plan_of_defaults() -> None:
    """A table without words is a stage with the words of the command line."""
    plan = _pipeline(f"{READ}[pair]\n[dedupe]\n[split]\n[write]\nout_dir = 'd'\n").plan
    assert plan.pair == PairPlan(read=ReadPlan(inputs=[IN]))
    assert (plan.sieves, plan.parting) == ([Dedupe()], Split())


def test_no_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input, unless nobody pipes anything into it; an empty list is a mistake."""
    monkeypatch.setattr("sys.stdin", None)
    for text in ("[sample]\nmax_pairs = 1\n", "[read]\n[pair]\n", "[read]\ninputs = '-'\n[pair]\n"):
        assert _pipeline(text).plan.read.inputs == [Input("-", "stdin")]
    sentences, _ = _told("[read]\n\ninputs = []\n[pair]\n")
    assert sentences[0].endswith("inputs is empty")


def test_companions_of_rollouts() -> None:
    """They are passed over, and counted as such."""
    ledger = Ledger()
    Path("runs").mkdir()
    for name in ("rollouts.jsonl", "rollouts_materialized_inputs.jsonl"):
        Path("runs", name).write_bytes(b"x")
    pipeline = _pipeline("[read]\ninputs = 'runs'\n[pair]\n", ledger=ledger)
    assert [given.label for given in pipeline.inputs] == ["rollouts.jsonl"]
    assert ledger.skipped_files == [("rollouts_materialized_inputs.jsonl", "NeMo Gym")]


def test_references_are_read_too() -> None:
    """Benchmarks stand behind the inputs."""
    pipeline = _pipeline(f"{READ}[dedupe]\nagainst = 'bench.jsonl'\n")
    assert pipeline.inputs == [IN, Input("bench.jsonl", "bench.jsonl")]
    assert pipeline.plan.read.inputs == [IN]


def test_tokenizer_is_read_too() -> None:
    """The result hangs on it as on any other file."""
    Tokenizer(WordLevel({"a": 0}, unk_token="a")).save("t.json")  # noqa: S106 - no password
    pipeline = _pipeline(f"{READ}[filter]\nmax_tokens = 9\ntokenizer = 't.json'\n")
    assert pipeline.inputs == [IN, Input("t.json", "t.json")]


def test_what_makes_texts_is_read_too() -> None:
    """A tokenizer and a template that rollouts are read with."""
    Tokenizer(WordLevel({"a": 0}, unk_token="a")).save("t.json")  # noqa: S106 - no password
    Path("t.jinja").write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    words = "tokenizer = 't.json'\nprompt_template = 't.jinja'\n"
    pipeline = _pipeline(f"{READ}{words}[pair]\n")
    assert pipeline.inputs == [IN, Input("t.jinja", "t.jinja"), Input("t.json", "t.json")]


def test_template_is_read_too() -> None:
    """So does the form of examples on a chat template."""
    Path("t.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}", "utf-8")
    pipeline = _pipeline(f"{READ}[export]\nto = 'trl'\ntemplate = 't.jinja'\n")
    assert pipeline.inputs == [IN, Input("t.jinja", "t.jinja")]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{READ}on_error = 'skp'\n[pair]\n", "r.toml:3: unknown --on-error: skp"),
        (f"{READ}group_by = ','\n[pair]\n", "r.toml:3: read.group_by is empty"),
        (f"{READ}[pair]\n\nstrategy = 'x'\n", "r.toml:5: unknown strategy: x"),
        (f"{READ}[pair]\norder = 'x'\n", "r.toml:4: unknown --order: x"),
        (
            f"{READ}[pair]\nmin_gap = 2\nmax_gap = 1\n",
            "r.toml:3: --max-gap 1 is below --min-gap 2",
        ),
        (
            f"{READ}[pair]\nassume_grouped = true\n",
            "r.toml:3: assume_grouped does not go with a recipe",
        ),
        (f"{READ}[dedupe]\n\nconflicts = 'x'\n", "r.toml:5: unknown --conflicts: x"),
        (f"{READ}[dedupe]\nnear-on = 'chosen'\n", "r.toml:3: --near-on goes with --near"),
        (f"{READ}[filter]\n", "r.toml:3: filter without a condition"),
        (f"{READ}[sample]\nseed = 1\n", "r.toml:3: sample of what size?"),
        (f"{READ}[sample]\norder = 'x'\n", "r.toml:4: unknown --order: x"),
        (
            f"{READ}[split]\nval_fraction = 1\ntest_fraction = 1\n",
            "r.toml:3: --val-fraction and --test-fraction are more than 1 together",
        ),
    ],
)
def test_place_of_words_that_do_not_fit(text: str, sentence: str) -> None:
    """What the commands themselves say of their words, with the line where they stand."""
    assert _told(text)[0] == [sentence]


def test_input_that_is_not_there() -> None:
    """Trouble of the file system, as on the command line."""
    with pytest.raises(FileError) as caught:
        _pipeline("[read]\ninputs = 'none.jsonl'\n[pair]\n")
    assert (caught.value.path, caught.value.problem) == ("none.jsonl", "no such file")


# Where the result goes ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "outputs", "manifest"),
    [
        ("", [], None),
        ("output = '-'", [], None),
        ("output = '-'\nmanifest = 'm.json'", [], "m.json"),
        ("output = 'o.jsonl'", ["o.jsonl"], "manifest.json"),
        ("output = 'd/o.jsonl.gz'", ["d/o.jsonl.gz"], "d/manifest.json"),
        ("output = 'd/o.jsonl'\nmanifest = 'm.json'", ["d/o.jsonl"], "m.json"),
    ],
)
def test_destination_of_one_file(write: str, outputs: list[str], manifest: str | None) -> None:
    """The manifest stands beside it, if it is a file."""
    pipeline = _pipeline(f"{READ}[pair]\n[write]\n{write}\n")
    assert (pipeline.outputs, pipeline.manifest) == (outputs, manifest)
    assert (pipeline.folder, pipeline.swept) == (None, outputs)


@pytest.mark.parametrize(
    ("split", "write", "outputs", "manifest"),
    [
        ("", "", ["d/train.jsonl", "d/val.jsonl"], "d/manifest.json"),
        (
            "test_fraction = 0.2",
            "manifest = 'm.json'",
            ["d/train.jsonl", "d/val.jsonl", "d/test.jsonl"],
            "m.json",
        ),
        ("val_fraction = 0", "", ["d/train.jsonl"], "d/manifest.json"),
    ],
)
def test_destination_of_sides(
    split: str, write: str, outputs: list[str], manifest: str | None
) -> None:
    """A file a side; those of sides that nobody asked for go as well."""
    pipeline = _pipeline(f"{READ}[split]\n{split}\n[write]\nout_dir = 'd'\n{write}\n")
    assert pipeline.folder is not None
    assert (pipeline.outputs, pipeline.manifest, pipeline.folder.path) == (outputs, manifest, "d")
    assert pipeline.swept == ["d/train.jsonl", "d/val.jsonl", "d/test.jsonl"]


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        ("[split]\n", "r.toml: [split] writes several files", 'write.out_dir = "data" says where'),
        (
            "[split]\n[write]\noutput = 'o'\n",
            "r.toml:4: [split] writes several files",
            'write.out_dir = "data" says where',
        ),
        (
            "[split]\n[write]\nout_dir = 'd'\noutput = 'o'\n",
            "r.toml:4: [split] writes several files",
            'write.out_dir = "data" says where',
        ),
        (
            "[split]\n[write]\nout_dir = ''\n",
            "r.toml:5: write.out_dir is empty",
            None,
        ),
        (
            "[pair]\n[write]\nout_dir = 'd'\n",
            "r.toml:4: out_dir goes with [split]",
            'write.output = "pairs.jsonl"',
        ),
    ],
)
def test_destination_that_does_not_fit(text: str, sentence: str, hint: str) -> None:
    """One file goes with no split, a folder with one."""
    assert _told(f"{READ}{text}") == ([sentence], hint)


OURS = (
    b'{"id": "70bbf81c1f01a23af69e2c2b1346a9b7", "group": "g", '
    b'"prompt": "Q", "chosen": "A", "rejected": "B"}\n'
)
"""A row as we write them."""


def _write(pipeline: Pipeline, *, keep_if_same: bool, content: bytes = OURS) -> None:
    with (
        FileTransaction() as transaction,
        pipeline.opened(transaction, keep_if_same=keep_if_same) as outputs,
    ):
        for output in outputs.values():
            output.write(content)


@pytest.mark.parametrize(
    ("text", "sides", "files"),
    [
        (f"{READ}[pair]\n[write]\noutput = 'o.jsonl'\n", [WHOLE], ["o.jsonl"]),
        (
            f"{READ}[split]\n[write]\nout_dir = 'd'\n",
            ["train", "val"],
            ["d/train.jsonl", "d/val.jsonl"],
        ),
    ],
)
def test_opened(text: str, sides: list[str], files: list[str]) -> None:
    """An output a side; what would not change keeps its time if that is asked."""
    pipeline = _pipeline(text)
    with (
        FileTransaction() as transaction,
        pipeline.opened(transaction, keep_if_same=True) as outputs,
    ):
        assert [*outputs] == sides
        for output in outputs.values():
            output.write(OURS)
    for path in files:
        os.utime(path, (1, 1))
    for keep, content, old in ((True, OURS, True), (True, OURS * 2, False)):
        _write(pipeline, keep_if_same=keep, content=content)
        assert [os.stat(path).st_mtime == 1 for path in files] == [old] * len(files)
        assert {Path(path).read_bytes() for path in files} == {content}
    for path in files:
        os.utime(path, (1, 1))
    _write(pipeline, keep_if_same=False, content=OURS * 2)
    assert all(os.stat(path).st_mtime > 1 for path in files)


@pytest.mark.parametrize("read", ["in.jsonl", "bench.jsonl"])
def test_output_over_what_is_read(read: str) -> None:
    """Neither an input nor a benchmark is written over."""
    before = Path(read).read_bytes()
    pipeline = _pipeline(f"{READ}[dedupe]\nagainst = 'bench.jsonl'\n[write]\noutput = './{read}'\n")
    with pytest.raises(UsageError, match="is both input and output"):
        _write(pipeline, keep_if_same=True)
    assert Path(read).read_bytes() == before


# What would be done ------------------------------------------------------------------------


def test_outline() -> None:
    """Recipe, files with their sizes, stages with the words that were written or set, results."""
    outline = _outline(
        "[read]\ninputs = ['in.jsonl', 'more.jsonl']\nlimit = 3\n[pair]\nmin-gap = 0.5\n"
        "strategy = 'adjacent'\n[dedupe]\nagainst = ['bench.jsonl']\n[split]\nexact = true\n"
        "[write]\nout_dir = 'd'\n",
        "pair.min_gap=1",
        "split.seed=2",
    )
    assert outline == (
        "recipe      r.toml\n"
        "read        in.jsonl (1,234 bytes)\n"
        "read        more.jsonl (1 bytes)\n"
        "read        bench.jsonl (16 bytes)\n"
        'pair        min_gap = 1, strategy = "adjacent"\n'
        'dedupe      against = ["bench.jsonl"]\n'
        "split       exact = true, seed = 2\n"
        "write       d/train.jsonl\n"
        "write       d/val.jsonl\n"
        "write       d/manifest.json\n"
    )


def test_outline_of_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no size and no name."""
    monkeypatch.setattr("sys.stdin", None)
    assert _outline("[pair]\n") == (
        "recipe      r.toml\nread        -\npair        \nwrite       standard output\n"
    )


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/null", "/dev/fd/1", "fifo"])
def test_no_manifest_among_devices(path: str) -> None:
    """A device has no place beside it, and what went through a pipe cannot be hashed."""
    os.mkfifo("fifo")
    assert _pipeline(f"{READ}[pair]\n[write]\noutput = '{path}'\n").manifest is None
