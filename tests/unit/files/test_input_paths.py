"""Which files the arguments of the command line mean."""

import os
from pathlib import Path

import pytest

from prefpairs.errors import EmptyName, FileError, UsageError
from prefpairs.files.input_file import Input, labels
from prefpairs.files.input_paths import find_inputs


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.jsonl", "a.jsonl", "runs/2/r.jsonl", "runs/1/r.jsonl", "odd/[x].jsonl"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()


def _labels(*words: str) -> list[str]:
    return [given.label for given in find_inputs(words)]


def _problem(*words: str) -> str:
    try:
        find_inputs(words)
    except (FileError, UsageError) as error:
        return error.problem
    return "none"


def test_files_in_the_order_given() -> None:
    """The order of arguments is kept."""
    assert find_inputs(["b.jsonl", "a.jsonl"]) == [
        Input("b.jsonl", "b.jsonl"),
        Input("a.jsonl", "a.jsonl"),
    ]


@pytest.mark.parametrize("words", [[], ["-"]])
def test_standard_input(words: list[str]) -> None:
    """Standard input, explicit or by default."""
    found = find_inputs(words)
    assert (found, found[0].is_stdin) == ([Input("-", "stdin")], True)


def test_standard_input_between_files() -> None:
    """Standard input keeps its position among files."""
    assert _labels("b.jsonl", "-", "a.jsonl") == ["b.jsonl", "stdin", "a.jsonl"]


def test_globs_are_sorted() -> None:
    """Matches are sorted, whatever the file system's order."""
    assert [given.path for given in find_inputs(["*.jsonl"])] == ["a.jsonl", "b.jsonl"]
    assert [given.path for given in find_inputs(["**/r.jsonl"])] == [
        "runs/1/r.jsonl",
        "runs/2/r.jsonl",
    ]


def test_glob_of_folders() -> None:
    """A folder that matches a pattern means its files."""
    assert [given.path for given in find_inputs(["runs/*"])] == ["runs/1/r.jsonl", "runs/2/r.jsonl"]


def test_name_that_looks_like_a_glob() -> None:
    """An existing file name takes precedence over a pattern."""
    assert [given.path for given in find_inputs(["odd/[x].jsonl"])] == ["odd/[x].jsonl"]


def test_folder_is_its_data_files_sorted() -> None:
    """Other files, hidden files and subfolders are ignored."""
    os.mkdir("data")
    data = ["z.jsonl", "m.json", "c.ndjson", "p.parquet", "a.jsonl.gz", "b.jsonl.zst", "d.json.gz"]
    for name in [*data, "notes.txt", ".hidden.jsonl", "x.jsonl.bak", "e.csv.gz"]:
        Path("data", name).touch()
    Path("data", "deeper").mkdir()
    assert [os.path.basename(given.path) for given in find_inputs(["data"])] == sorted(data)


def test_folder_without_data() -> None:
    """An empty folder is an error, not an empty input."""
    os.mkdir("empty")
    assert (
        _problem("empty")
        == "no .jsonl, .json, .parquet, .trxp, .eval or .traj file in this directory"
    )


def test_folder_of_folders() -> None:
    """Subfolders are searched only if the folder itself has no data files."""
    for name in ("data/b/x.jsonl", "data/a/y.jsonl", "data/a/c/z.jsonl", "data/.h/h.jsonl"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    Path("data/job.json").touch()
    paths = [given.path for given in find_inputs(["data"])]
    assert paths == ["data/a/y.jsonl", "data/b/x.jsonl"]
    Path("data/top.jsonl").touch()
    assert [given.path for given in find_inputs(["data"])] == ["data/top.jsonl"]


def test_files_any_number_of_folders_deep() -> None:
    """The nearest folders with files are read once each, even with cyclic links."""
    names = (
        "run/step_1/train/all/t.jsonl",
        "run/step_2/train/all/t.jsonl",
        "run/step_1/a/b/c/u.jsonl",
    )
    for name in (*names, "run/.git/x/t.jsonl"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    Path("run/step_1/back").symlink_to("..")
    assert [given.path for given in find_inputs(["run"])] == [*names[:2]]


@pytest.mark.parametrize("word", ["nothing.jsonl", "nothing/x.jsonl", "x*.jsonl"])
def test_no_such_file(word: str) -> None:
    """A pattern without matches is an error, too."""
    assert _problem(word) == "no such file"


def test_name_that_cannot_be_looked_up() -> None:
    """If it is unknown whether a file exists, the system's message is shown."""
    Path("loop").symlink_to("loop")
    assert _problem("loop") == "Too many levels of symbolic links"
    assert _problem("x" * 300) == "File name too long"


def test_no_name() -> None:
    """An empty name is rejected."""
    with pytest.raises(EmptyName):
        find_inputs([""])


@pytest.mark.parametrize(
    "words",
    [
        ["a.jsonl", "a.jsonl"],
        ["a.jsonl", "./a.jsonl"],
        ["a.jsonl", "*.jsonl"],
        ["link.jsonl", "a.jsonl"],
        ["hard.jsonl", "a.jsonl"],
        ["-", "-"],
    ],
)
def test_same_input_twice(words: list[str]) -> None:
    """The same file under two names is rejected."""
    os.symlink("a.jsonl", "link.jsonl")
    os.link("a.jsonl", "hard.jsonl")
    assert "is named twice" in _problem(*words)


@pytest.mark.parametrize(
    ("paths", "endings"),
    [
        ([], []),
        (["runs/a.jsonl"], ["a.jsonl"]),
        (["/data/x/r.jsonl", "/data/y/r.jsonl"], ["x/r.jsonl", "y/r.jsonl"]),
        (
            ["x/1/r.jsonl", "y/1/r.jsonl", "z/2/r.jsonl"],
            ["x/1/r.jsonl", "y/1/r.jsonl", "2/r.jsonl"],
        ),
        (["r.jsonl", "x/r.jsonl"], ["r.jsonl", "x/r.jsonl"]),
        (["a.jsonl", "-"], ["a.jsonl", "stdin"]),
        (["odd\udcff/r\udcfe.jsonl"], ["r\\xfe.jsonl"]),
        (["./r.jsonl", "x/../r2.jsonl"], ["r.jsonl", "r2.jsonl"]),
    ],
)
def test_labels_are_the_shortest_endings(paths: list[str], endings: list[str]) -> None:
    """Labels are the shortest path endings that are unique."""
    assert labels(paths) == endings


def test_labels_tell_names_apart_that_are_no_utf8() -> None:
    """Names that are not UTF-8 get different labels, too."""
    assert len(set(labels(["odd\udcff.jsonl", "odd\udcfe.jsonl"]))) == 2


def test_labels_do_not_depend_on_order() -> None:
    """Labels do not depend on the order of paths."""
    paths = ["x/1/r.jsonl", "y/1/r.jsonl", "z/2/r.jsonl"]
    assert labels(paths[::-1]) == labels(paths)[::-1]
