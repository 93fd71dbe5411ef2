"""Converts recipes to plans."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from prefpairs.cli.recipe import read_recipe
from prefpairs.cli.recipe_plan import outline_of, plan_of
from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.engine.outputs.destination import Destination
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.errors import FileError, UsageError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.input_file import Input
from prefpairs.plan import PairPlan, Plan, ReadPlan
from prefpairs.plan.runner_plan import RunnerPlan
from prefpairs.plan.write_plan import WriteRecipe
from prefpairs.sources import LAYOUTS, TABLES
from prefpairs.stages.dedupe import Dedupe
from prefpairs.stages.filter import Filter
from prefpairs.stages.sample import Sample
from prefpairs.stages.split import Split
from prefpairs.strategies.options import PairOptions

IN = Input("in.jsonl", "in.jsonl", layouts=LAYOUTS, tables=TABLES)
READ = "[read]\ninputs = 'in.jsonl'\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_bytes(b"x" * 1234)
    Path("more.jsonl").write_bytes(b"y")
    Path("bench.jsonl").write_bytes(b'{"prompt": "Q"}\n')


def _plan(text: str, *settings: str) -> Plan:
    Path("r.toml").write_text(text, "utf-8")
    recipe = read_recipe("r.toml", settings)
    return plan_of(recipe, recipe.group("write", WriteRecipe), RunnerPlan())


def _inputs(text: str) -> list[Input]:
    """All files that the plan reads."""
    return Destination(_plan(text)).inputs


def _manifest(plan: Plan) -> str | None:
    assert plan.manifest is not None
    return plan.manifest.path


def _outline(text: str, *settings: str) -> str:
    plan = _plan(text, *settings)
    return outline_of(read_recipe("r.toml", settings), plan, Destination(plan))


OURS = (
    b'{"id": "70bbf81c1f01a23af69e2c2b1346a9b7", "group": "g", '
    b'"prompt": "Q", "chosen": "A", "rejected": "B"}\n'
)
"""A row as prefpairs writes it."""


def _write(plan: Plan, *, keep_if_same: bool = False, content: bytes = OURS) -> list[str]:
    """Write the same to every output; returns the outputs' names."""
    plan = replace(plan, write=replace(plan.write, keep_if_same=keep_if_same))
    with (
        FileTransaction() as transaction,
        Destination(plan).opened(transaction) as outputs,
    ):
        for output in outputs.values():
            output.write(content)
        return [*outputs]


def _told(text: str) -> tuple[list[str], str | None]:
    with pytest.raises(UsageError) as caught:
        _plan(text)
    return error_sentences(caught.value)


def test_plan_of_pairs() -> None:
    """Without [pair], the inputs are pairs."""
    plan = _plan(
        "[read]\ninputs = ['in.jsonl', 'more.jsonl']\nlimit = 3\non_error = 'skip'\n"
        "temp_dir = '.'\n[sample]\nmax_pairs = 2\n"
    )
    assert plan.read.inputs == [
        IN,
        Input("more.jsonl", "more.jsonl", layouts=LAYOUTS, tables=TABLES),
    ]
    assert (plan.read.limit, plan.read.on_error, plan.temp_dir) == (3, "skip", ".")
    assert (plan.makes, plan.pair, plan.stages) == ("pairs", None, [Sample(max_pairs=2)])
    assert (plan.split, plan.export, plan.references) == (None, None, [])


def test_plan_of_rollouts() -> None:
    """With [pair], the inputs are rollouts, with all options of reading."""
    plan = _plan(
        f"{READ}from = 'nat'\nscore = 'x:2'\ntemp_dir = '.'\n"
        "[pair]\nstrategy = 'adjacent'\nmin_gap = 0.5\norder = 'key'\n"
    )
    assert isinstance(plan.read, ReadPlan)
    named = IN._replace(named=frozenset({"x"}))  # a cell of a table is a number if it is a score
    assert (plan.read.inputs, plan.read.source) == ([named], "nat")
    assert plan.read.options == ReadOptions(scores=(("x", 2.0),))
    options = PairOptions(strategy="adjacent", min_gap=0.5, order="key")
    assert plan.pair == PairPlan(read=plan.read, options=options, temp_dir=".")
    assert (plan.makes, plan.stages, plan.temp_dir) == ("pairs", [], ".")


def test_plan_of_candidates() -> None:
    """[extract] alone writes the candidates."""
    plan = _plan(f"{READ}from = 'nat'\n[extract]\n")
    assert isinstance(plan.read, ReadPlan)
    assert (plan.makes, plan.pair, plan.read.source) == ("candidates", None, "nat")


def test_stages_of_a_plan() -> None:
    """Stages are in order, each with its own options; [split] divides the rest."""
    plan = _plan(
        "[write]\nout_dir = 'd'\n[sample]\nseed = 1\nfraction = 0.5\n[filter]\nmin_gap = 1\n"
        f"{READ}[dedupe]\nby = 'prompt'\n[split]\nseed = 2\nexact = true\n"
    )
    assert plan.stages == [
        Sample(seed=1, fraction=0.5),
        Filter(min_gap=1.0),
        Dedupe(by=("prompt",)),
    ]
    assert plan.split == Split(seed=2, exact=True)


def test_plan_of_defaults() -> None:
    """A table without keys is a stage with the defaults of the command line."""
    plan = _plan(f"{READ}[pair]\n[dedupe]\n[split]\n[write]\nout_dir = 'd'\n")
    assert plan.pair is not None
    assert (plan.pair.read.inputs, plan.pair.read.options) == ([IN], ReadOptions())
    assert plan.pair.options == PairOptions()
    assert (plan.stages, plan.split) == ([Dedupe()], Split())


def test_no_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input, unless it is a terminal; an empty list is rejected."""
    monkeypatch.setattr("sys.stdin", None)
    for text in ("[sample]\nmax_pairs = 1\n", "[read]\n[pair]\n", "[read]\ninputs = '-'\n[pair]\n"):
        assert _plan(text).read.inputs == [Input("-", "stdin", layouts=LAYOUTS, tables=TABLES)]
    sentences, _ = _told("[read]\n\ninputs = []\n[pair]\n")
    assert sentences[0].endswith("inputs is empty")


def test_companions_of_rollouts() -> None:
    """Files that accompany rollouts are skipped and counted."""
    Path("runs").mkdir()
    for name in ("rollouts.jsonl", "rollouts_materialized_inputs.jsonl"):
        Path("runs", name).write_bytes(b"x")
    read = _plan("[read]\ninputs = 'runs'\n[pair]\n").read
    assert [given.label for given in read.inputs] == ["rollouts.jsonl"]
    assert read.skipped_files == [("rollouts_materialized_inputs.jsonl", "NeMo Gym")]


def test_references_are_read_too() -> None:
    """References are listed after the inputs."""
    text = f"{READ}[dedupe]\nagainst = 'bench.jsonl'\n"
    assert _inputs(text) == [IN, Input("bench.jsonl", "bench.jsonl")]
    assert _plan(text).read.inputs == [IN]


def test_tokenizer_is_read_too() -> None:
    """The tokenizer is listed, since the result depends on it."""
    Tokenizer(WordLevel({"a": 0}, unk_token="a")).save("t.json")  # noqa: S106 - no password
    text = f"{READ}[filter]\nmax_tokens = 9\ntokenizer = 't.json'\n"
    assert _inputs(text) == [IN, Input("t.json", "t.json")]


def test_what_makes_texts_is_read_too() -> None:
    """The tokenizer and the template for reading rollouts are listed."""
    Tokenizer(WordLevel({"a": 0}, unk_token="a")).save("t.json")  # noqa: S106 - no password
    Path("t.jinja").write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    words = "tokenizer = 't.json'\nprompt_template = 't.jinja'\n"
    files = [Input("t.jinja", "t.jinja"), Input("t.json", "t.json")]
    assert _inputs(f"{READ}{words}[pair]\n") == [IN, *files]


def test_template_is_read_too() -> None:
    """The chat template for export is listed."""
    Path("t.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}", "utf-8")
    text = f"{READ}[export]\nto = 'trl'\ntemplate = 't.jinja'\n"
    assert _inputs(text) == [IN, Input("t.jinja", "t.jinja")]


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
            f"{READ}[pair]\nassume_grouped = true\n[sample]\nmax_pairs = 1\n",
            "r.toml:3: assume_grouped and other stages cannot be used together",
        ),
        (
            f"{READ}[pair]\nassume_grouped = true\n[split]\n[write]\nout_dir = 'd'\n",
            "r.toml:3: assume_grouped and other stages cannot be used together",
        ),
        (f"{READ}[extract]\nmin_gap = 1\n", "r.toml:4: unknown word in [extract]: min_gap"),
        (f"{READ}[dedupe]\n\nconflicts = 'x'\n", "r.toml:5: unknown --conflicts: x"),
        (f"{READ}[dedupe]\nnear-on = 'chosen'\n", "r.toml:3: --near-on requires --near"),
        (f"{READ}[filter]\n", "r.toml:3: filter has no condition"),
        (f"{READ}[sample]\nseed = 1\n", "r.toml:3: sample needs a size or an order"),
        (f"{READ}[sample]\norder = 'x'\n", "r.toml:4: unknown --order: x"),
        (
            f"{READ}[split]\nval_fraction = 1\ntest_fraction = 1\n",
            "r.toml:3: --val-fraction and --test-fraction are more than 1 together",
        ),
    ],
)
def test_line_of_contradictory_options(text: str, sentence: str) -> None:
    """Errors of the options are those of the commands, with the line."""
    assert _told(text)[0] == [sentence]


@pytest.mark.parametrize("more", ["", "[export]\nto = 'trl'\n"])
def test_groups_that_are_neighbours(more: str) -> None:
    """assume_grouped is kept if no later step needs all pairs."""
    plan = _plan(f"{READ}[pair]\nassume_grouped = true\n{more}")
    assert plan.pair is not None
    assert plan.pair.options.assume_grouped is True


def test_sides_by_name() -> None:
    """A recipe that only exports keeps files named train and val apart if it writes a folder."""
    Path("val.jsonl").touch()
    reading = "[read]\ninputs = ['in.jsonl', 'val.jsonl']\n[export]\nto = 'trl'\n[write]\n"
    val = Input("val.jsonl", "val.jsonl", layouts=LAYOUTS, tables=TABLES)
    assert _plan(f"{reading}out_dir = 'd'\n").sides == {IN: "train", val: "val"}
    assert _plan(f"{reading}output = 'o.jsonl'\n").sides == {}


def test_input_that_is_not_there() -> None:
    """A missing input is an error of the file system, as on the command line."""
    with pytest.raises(FileError) as caught:
        _plan("[read]\ninputs = 'none.jsonl'\n[pair]\n")
    assert (caught.value.path, caught.value.problem) == ("none.jsonl", "no such file")


# Outputs -----------------------------------------------------------------------------------


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
    """The manifest is next to the output, if that is a file."""
    plan = _plan(f"{READ}[pair]\n[write]\n{write}\n")
    assert (Destination(plan).paths, _manifest(plan)) == (outputs, manifest)


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
    """One file per split; files of other splits are removed."""
    plan = _plan(f"{READ}[split]\n{split}\n[write]\nout_dir = 'd'\n{write}\n")
    assert (Destination(plan).paths, _manifest(plan)) == (outputs, manifest)
    Path("d").mkdir()
    for side in ("train", "val", "test"):
        Path(f"d/{side}.jsonl").write_bytes(OURS)
    _write(plan)
    assert sorted(str(path) for path in Path("d").iterdir()) == sorted(outputs)


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
            "r.toml:4: out_dir requires [split]",
            'write.output = "pairs.jsonl"',
        ),
    ],
)
def test_destination_that_does_not_fit(text: str, sentence: str, hint: str) -> None:
    """A split needs a folder, and a single output needs no split."""
    assert _told(f"{READ}{text}") == ([sentence], hint)


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
    """One output per split; with keep_if_same, unchanged files keep their time."""
    plan = _plan(text)
    assert _write(plan, keep_if_same=True) == sides
    for path in files:
        os.utime(path, (1, 1))
    for keep, content, old in ((True, OURS, True), (True, OURS * 2, False)):
        _write(plan, keep_if_same=keep, content=content)
        assert [os.stat(path).st_mtime == 1 for path in files] == [old] * len(files)
        assert {Path(path).read_bytes() for path in files} == {content}
    for path in files:
        os.utime(path, (1, 1))
    _write(plan, content=OURS * 2)
    assert all(os.stat(path).st_mtime > 1 for path in files)


@pytest.mark.parametrize("read", ["in.jsonl", "bench.jsonl"])
def test_output_over_what_is_read(read: str) -> None:
    """Neither an input nor a reference is overwritten."""
    before = Path(read).read_bytes()
    plan = _plan(f"{READ}[dedupe]\nagainst = 'bench.jsonl'\n[write]\noutput = './{read}'\n")
    with pytest.raises(UsageError, match="is both input and output"):
        _write(plan, keep_if_same=True)
    assert Path(read).read_bytes() == before


# --dry-run ---------------------------------------------------------------------------------


def test_outline() -> None:
    """Recipe, files with sizes, stages with the options given, and outputs."""
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
    """Streams have no size and no name."""
    monkeypatch.setattr("sys.stdin", None)
    assert _outline("[pair]\n") == (
        "recipe      r.toml\nread        -\npair        \nwrite       standard output\n"
    )


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/null", "/dev/fd/1", "fifo"])
def test_no_manifest_among_devices(path: str) -> None:
    """There is no manifest next to a device, and a pipe cannot be hashed."""
    os.mkfifo("fifo")
    assert _manifest(_plan(f"{READ}[pair]\n[write]\noutput = '{path}'\n")) is None
