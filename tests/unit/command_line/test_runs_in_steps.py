"""Runs in steps: what is rejected, skipped and noticed between steps."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from forked_prefpairs import Done, run_text
from prefpairs.cli.run_in_steps import work_in
from prefpairs.engine.runners import finish as finish_module
from prefpairs.engine.runners import step_plan as steps_module
from prefpairs.engine.runners.step_plan import WORK, step_plan
from prefpairs.ledger import Ledger
from prefpairs.plan import Plan, ReadPlan

SAMPLES = Path(__file__).parents[3] / "sample_data"
PAIR = ("pair", "--runner", "shards", "--order", "key", "--out-dir", "out")
FILTER = ("filter", "--runner", "shards", "--min-gap", "0.1")
QUARANTINE = ("--on-error", "quarantine", "--quarantine")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with rollouts of 30 prompts."""
    write(tmp_path / "rows.jsonl", 90)
    return tmp_path


def write(path: Path, count: int, start: int = 0) -> None:
    """Write rollouts, three per prompt."""
    rows = (
        {"prompt": f"Question {number // 3}?", "response": f"answer {number}", "score": number % 3}
        for number in range(start, start + count)
    )
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def prefpairs(folder: Path, *words: str) -> Done:
    """Run the program in the folder."""
    return run_text(*words, cwd=folder)


def well(folder: Path, *words: str) -> str:
    """The same, which must succeed with this message."""
    done = prefpairs(folder, *words)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return done.stderr


def do_all(folder: Path) -> None:
    """Do all steps, and finish."""
    for step in ("1", "2", "finish"):
        well(folder, "shards", step, "out")


def refused(folder: Path, *words: str) -> str:
    """The error of a command that exits 2."""
    done = prefpairs(folder, *words)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--order", "input"], "known only to one who reads all rows"),
        (["--limit", "3"], "--limit counts rows"),
        (["--to", "trl-kto"], "--to trl-kto orders single answers by all of them"),
        (["--to", "nat"], "--to nat adds up figures of all pairs"),
        (["-o", "pairs.jsonl"], "the result is a directory of files"),
        (["--strategy", "stratified", "--across-prompts"], "--across-prompts compares"),
    ],
)
def test_what_cannot_be_done_in_steps_is_refused(
    words: list[str], problem: str, folder: Path
) -> None:
    """Runs that cannot be divided are rejected with the reason before anything is written."""
    given = [*PAIR, "rows.jsonl", *words]
    if "--order" in words:
        given = ["pair", "--runner", "shards", "--out-dir", "out", "rows.jsonl"]
    assert problem in refused(folder, *given)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["sample", "--max-pairs", "3"], "sample compares the pairs of the whole input"),
        (["sample", "--fraction", "0.5", "--order", "shuffle"], "sample compares the pairs"),
        (["filter", "--min-gap", "1", "--parts", "3"], "each step writes a part of what it reads"),
        (["dedupe", "--near", "0.9"], "--near compares every pair"),
        (["dedupe", "--by", "chosen"], "--by chosen compares every pair"),
        (["split", "--exact"], "--exact needs the number of pairs of each key"),
        (["split", "--like", "out"], "steps read the earlier split until the new one is complete"),
    ],
)
def test_what_stages_cannot_do_in_steps_is_refused(
    words: list[str], problem: str, folder: Path
) -> None:
    """Stages that hold pairs back, and a number of parts that nothing can be divided into."""
    well(folder, "pair", "-q", "rows.jsonl", "-o", "pairs.jsonl")
    if "--like" in words:
        well(folder, "split", "-q", "pairs.jsonl", "--out-dir", "out")
    ways = ("--runner", "shards", "--out-dir", "out")
    assert problem in refused(folder, *words, *ways, "pairs.jsonl")


@pytest.mark.parametrize(
    ("stages", "words", "problem"),
    [
        ("[pair]", [], "known only to one who reads all rows"),
        ('[pair]\norder = "key"\n[dedupe]\nnear = 0.9', [], "--near compares every pair"),
        ('[pair]\norder = "key"\n[split]\nexact = true', [], "--exact needs the number"),
        ('[pair]\norder = "key"\n[export]\nto = "trl-kto"', [], "orders single answers"),
        (
            '[pair]\norder = "key"\n[split]\nby = "group"\n[export]\nto = "trl"',
            [],
            "split by something else than the prompt",
        ),
        ('[pair]\norder = "key"', ["--set", "write.manifest=m.json"], "next to the results"),
        ('[pair]\norder = "key"', ["--keep-if-same"], "keep_if_same compares the files"),
        ('[pair]\norder = "key"', ["--dry-run"], "--dry-run is for a run in one process"),
        ('[pair]\norder = "key"', ["--depfile", "inputs.mk"], "--depfile is for a run in one"),
    ],
)
def test_what_recipes_cannot_do_in_steps_is_refused(
    stages: str, words: list[str], problem: str, folder: Path
) -> None:
    """Recipes are rejected with the reason, and a hint about their words."""
    (folder / "recipe.toml").write_text(f'[read]\ninputs = "rows.jsonl"\n{stages}\n')
    ways = ("--runner", "shards", "--set", "write.out_dir=out")
    assert problem in refused(folder, "run", *ways, *words)
    assert not (folder / "out").exists()


def test_a_recipe_that_changed_is_noticed(folder: Path) -> None:
    """A recipe is read by every step, so it must stay as it is."""
    recipe = folder / "recipe.toml"
    recipe.write_text('[read]\ninputs = "rows.jsonl"\n[pair]\norder = "key"\n[dedupe]\n')
    well(folder, "run", "--runner", "shards", "--set", "write.out_dir=out")
    well(folder, "shards", "1", "out")
    recipe.write_text(recipe.read_text() + "conflicts = 'drop'\n")
    done = prefpairs(folder, "shards", "2", "out")
    assert (done.returncode, "recipe.toml changed" in done.stderr) == (1, True)


@pytest.mark.parametrize("command", ["extract", "pair"])
def test_a_directory_without_a_runner_is_refused(command: str, folder: Path) -> None:
    """One process writes one file."""
    assert "the parts of a --runner" in refused(folder, command, "--out-dir", "out", "rows.jsonl")


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        ((*QUARANTINE, "rows.jsonl"), 2, "rows.jsonl is both input and output"),
        ((*QUARANTINE, "nowhere/bad.jsonl"), 5, "nowhere/bad.jsonl: there is no directory"),
        ((*QUARANTINE, "out/bad.jsonl"), 2, "out appears only when the run ends well"),
        (("--summary", "rows.jsonl"), 2, "rows.jsonl is both input and output"),
    ],
)
def test_other_outputs_are_checked_before_the_first_step(
    words: tuple[str, ...], code: int, problem: str, folder: Path
) -> None:
    """A summary or quarantine that could not be written is reported when steps are planned."""
    done = prefpairs(folder, *PAIR, *words, "rows.jsonl")
    assert (done.returncode, done.stdout) == (code, "")
    assert problem in done.stderr
    assert not (folder / "out").exists()


def test_what_is_read_only_once_is_refused(folder: Path) -> None:
    """Rejects standard input and pipes, since several steps would read them."""
    assert "standard input: several steps" in refused(folder, *PAIR, "-")
    os.mkfifo(folder / "pipe")
    assert "pipe: several steps" in refused(folder, *PAIR, "pipe")


def test_pairs_in_rollouts_are_refused(folder: Path) -> None:
    """Rejects rollouts with ready-made pairs, which would have to come before all others."""
    well(folder, *PAIR, str(SAMPLES / "trinity_experiences.jsonl"))
    said = refused(folder, "shards", "1", "out")
    assert "trinity_experiences.jsonl contains pairs" in said


def test_steps_are_done_once(folder: Path) -> None:
    """A finished step is skipped, and so is everything once the run is finished."""
    assert "planned 6 steps to index, 2 steps to pair\n" in well(
        folder, *PAIR, "--range-size", "1KB", "--parts", "2", "rows.jsonl"
    )
    assert "round 1 (index): 3 steps done\n" in well(folder, "shards", "1", "out", "0/2")
    assert "round 1 (index): 3 steps done, 3 were done before\n" in well(
        folder, "shards", "1", "out"
    )
    assert "round 2 (pair): 2 steps done\n" in well(folder, "shards", "2", "out")
    assert "30 pairs" not in well(folder, "shards", "2", "out")
    assert "pairs               30" in well(folder, "shards", "finish", "out")
    assert not (folder / "out" / WORK).exists()
    for step in ("1", "2", "finish"):
        assert well(folder, "shards", step, "out") == "out is finished: nothing to do\n"


def test_a_step_needs_those_before_it(folder: Path) -> None:
    """The hint names the first missing step, with a command that runs it."""
    well(folder, *PAIR, "--range-size", "1KB", "--parts", "2", "rows.jsonl")
    well(folder, "shards", "1", "out", "1/2")
    for step in ("2", "finish"):
        said = refused(folder, "shards", step, "out")
        assert "step 0/6 of round 1 is not done" in said
    command = said.partition("hint: `")[2].partition("`")[0]
    well(folder, *command.split()[1:])
    assert "step 2/6 of round 1 is not done" in refused(folder, "shards", "2", "out")
    well(folder, "shards", "1", "out")
    well(folder, "shards", "2", "out", "1/2")
    assert "step 0/2 of round 2 is not done" in refused(folder, "shards", "finish", "out")


def test_the_same_command_goes_on(folder: Path) -> None:
    """The same command keeps finished steps; another command starts again."""
    words = (*PAIR, "--range-size", "1KB", "rows.jsonl")
    well(folder, *words)
    well(folder, "shards", "1", "out")
    well(folder, *words)
    assert "0 steps done, 6 were done before" in well(folder, "shards", "1", "out")
    well(folder, *words, "--min-gap", "2")
    assert "6 steps done\n" in well(folder, "shards", "1", "out")


def test_another_run_replaces_the_parts(folder: Path) -> None:
    """No part of an earlier run remains next to those of a later one."""
    well(folder, *PAIR, "--parts", "3", "rows.jsonl")
    do_all(folder)
    well(folder, *PAIR, "--parts", "1", "rows.jsonl")
    assert len([*(folder / "out").glob("part-*")]) == 3
    do_all(folder)
    assert [path.name for path in (folder / "out").glob("part-*")] == ["part-00000-of-00001.jsonl"]


def test_files_of_others_are_left_alone(folder: Path) -> None:
    """A folder with other files is rejected; with --force, these stay in it."""
    (folder / "out").mkdir()
    (folder / "out" / "thesis.txt").write_text("mine")
    assert "thesis.txt" in refused(folder, *PAIR, "rows.jsonl")
    well(folder, *PAIR, "--force", "rows.jsonl")
    do_all(folder)
    assert (folder / "out" / "thesis.txt").read_text() == "mine"


RECIPE = '[read]\ninputs = "rows.jsonl"\n[pair]\norder = "key"\n'


def plan_recipe(folder: Path, name: str, *words: str) -> Done:
    """Plan the steps of a recipe."""
    (folder / name).write_text(RECIPE)
    ways = ("--runner", "shards", "--set", "write.out_dir=out")
    return prefpairs(folder, "run", name, *ways, *words)


def test_results_of_another_recipe_are_not_replaced(folder: Path) -> None:
    """Another recipe, or a command without one, replaces these results only with --force."""
    assert plan_recipe(folder, "a.toml").returncode == 0
    do_all(folder)
    before = {path: path.read_bytes() for path in (folder / "out").iterdir()}
    for done in (plan_recipe(folder, "b.toml"), prefpairs(folder, *PAIR, "rows.jsonl")):
        assert done.returncode == 2
        assert "out/manifest.json is the manifest of ../a.toml" in done.stderr
    assert {path: path.read_bytes() for path in (folder / "out").iterdir()} == before
    assert plan_recipe(folder, "a.toml", "--set", "pair.min_gap=2").returncode == 0
    assert plan_recipe(folder, "b.toml", "--force").returncode == 0


@pytest.mark.parametrize("name", ["manifest.json", "part-00000-of-00001.jsonl"])
def test_files_of_others_with_names_of_ours_are_not_replaced(name: str, folder: Path) -> None:
    """The name of a file does not tell who wrote it."""
    well(folder, *PAIR, "rows.jsonl")
    do_all(folder)
    (folder / "out" / name).write_text('{"mine": 1}\n')
    assert name in refused(folder, *PAIR, "rows.jsonl")
    well(folder, *PAIR, "--force", "rows.jsonl")


def test_files_that_come_while_steps_are_done_are_not_replaced(folder: Path) -> None:
    """The folder is checked once more before results are put into place."""
    well(folder, *PAIR, "rows.jsonl")
    well(folder, "shards", "1", "out")
    well(folder, "shards", "2", "out")
    (folder / "out" / "manifest.json").write_text('{"mine": 1}\n')
    assert "out/manifest.json is there" in refused(folder, "shards", "finish", "out")
    assert not [*(folder / "out").glob("part-*")]


def interrupt_finish(folder: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """Begin to finish, and end at the first call of a function."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(folder)
    monkeypatch.setattr(finish_module, call, end)
    with pytest.raises(KeyboardInterrupt):
        finish_module.finish(work_in("out"), Ledger(), dict)


@pytest.mark.parametrize("call", ["remove_file", "write_file"])
def test_the_same_command_goes_on_after_an_interrupted_finish(
    call: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts already in place are its own, and the old parts still left are removed."""
    well(folder, *PAIR, "--parts", "3", "rows.jsonl")
    do_all(folder)
    words = (*PAIR, "--parts", "2", "rows.jsonl")
    well(folder, *words)
    well(folder, "shards", "1", "out")
    well(folder, "shards", "2", "out")
    interrupt_finish(folder, monkeypatch, call)
    problem = refused(folder, *words, "--min-gap", "2")
    assert "`prefpairs shards finish out` completes it" in problem
    well(folder, *words)
    well(folder, "shards", "finish", "out")
    parts = [f"part-0000{number}-of-00002.jsonl" for number in range(2)]
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["manifest.json", *parts]


def test_parts_of_an_earlier_run_go_after_its_manifest_went(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finish that is interrupted between them knows them when it is repeated."""
    well(folder, *PAIR, "--parts", "3", "rows.jsonl")
    do_all(folder)
    well(folder, *PAIR, "--parts", "2", "rows.jsonl")
    well(folder, "shards", "1", "out")
    well(folder, "shards", "2", "out")
    interrupt_finish(folder, monkeypatch, "remove_file")
    (folder / "out" / "manifest.json").unlink()
    well(folder, "shards", "finish", "out")
    assert len([*(folder / "out").glob("part-*")]) == 2


def test_parts_that_are_read_are_not_replaced(folder: Path) -> None:
    """The parts of an earlier run may be inputs, but not of a run whose parts replace them."""
    well(folder, *PAIR, "rows.jsonl")
    do_all(folder)
    (part,) = (folder / "out").glob("part-*")
    before = part.read_bytes()
    for named in (part.name, f"../out/{part.name}"):
        words = (*FILTER, "--out-dir", "../out", "--force", named)
        assert "is an input" in refused(folder / "out", *words)
    assert part.read_bytes() == before
    well(folder, *FILTER, "--out-dir", "other", f"out/{part.name}")


def test_an_input_that_changed_is_noticed(folder: Path) -> None:
    """A change is noticed in any step, and so is an added file that the command would read."""
    well(folder, *PAIR, "rows.jsonl")
    write(folder / "rows.jsonl", 93)
    done = prefpairs(folder, "shards", "1", "out")
    assert (done.returncode, done.stderr.partition("\n")[0]) == (
        1,
        "error: rows.jsonl changed while it was being read",
    )
    well(folder, *PAIR, "rows.jsonl")
    well(folder, "shards", "1", "out")
    os.utime(folder / "rows.jsonl", (1, 1))
    assert prefpairs(folder, "shards", "2", "out").returncode == 1
    (folder / "many").mkdir()
    write(folder / "many" / "a.jsonl", 9)
    well(folder, *PAIR, "many")
    write(folder / "many" / "b.jsonl", 9)
    assert "b.jsonl changed" in prefpairs(folder, "shards", "1", "out").stderr


def test_a_bad_row_fails_its_step_with_its_line(folder: Path) -> None:
    """The line number is that of the file, and the hint is about `pair`."""
    lines = (folder / "rows.jsonl").read_text().splitlines()
    lines[70] = lines[70].replace('"score": 1', '"score": "1"')
    (folder / "rows.jsonl").write_text("\n".join(lines))
    well(folder, *PAIR, "--range-size", "1KB", "rows.jsonl")
    done = prefpairs(folder, "shards", "1", "out")
    assert done.returncode == 1
    assert 'rows.jsonl:71: score is "1", expected a number' in done.stderr
    assert "--cast-score" in done.stderr


def test_too_many_bad_rows_fail_the_run(folder: Path) -> None:
    """--max-errors counts the bad rows of all steps together."""
    lines = (folder / "rows.jsonl").read_text().splitlines()
    for number in (5, 50, 85):
        lines[number] = "torn"
    (folder / "rows.jsonl").write_text("\n".join(lines))
    words = (*PAIR, "--range-size", "1KB", "--on-error", "skip", "rows.jsonl", "--max-errors")
    well(folder, *words, "2")
    well(folder, "shards", "1", "out")
    well(folder, "shards", "2", "out")
    done = prefpairs(folder, "shards", "finish", "out")
    assert done.returncode == 1
    assert "rows.jsonl:6" in done.stderr
    assert not [*(folder / "out").glob("part-*")]
    well(folder, *words, "3")
    do_all(folder)


def test_two_readings_end_the_run_before_a_part_appears(folder: Path) -> None:
    """Contradicting rows in different files end the run; the hint is a command that works."""
    first = [{"prompt": f"Q{n // 2}", "answer": f"{n // 2}", "score": n % 2} for n in range(40)]
    others = [{**row, "output": f"o{n}"} for n, row in enumerate(first)]
    for name, rows in (("a.jsonl", first), ("b.jsonl", others)):
        (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert "some rows have" in refused(folder, "pair", "--order", "key", "a.jsonl", "b.jsonl")
    well(folder, *PAIR, "--range-size", "500B", "a.jsonl", "b.jsonl")
    well(folder, "shards", "1", "out")
    well(folder, "shards", "2", "out")
    said = refused(folder, "shards", "finish", "out")
    assert 'b.jsonl: some rows have "answer" alone, and others next to "output"' in said
    assert [path.name for path in (folder / "out").iterdir()] == [WORK]
    command = said.partition("hint: prefpairs ")[2].partition("\n")[0]
    well(folder, *command.split())
    do_all(folder)


def test_nothing_came_out(folder: Path) -> None:
    """Exits 3 with the summary, as without a runner; --allow-empty and gates apply."""
    words = (*PAIR, "--min-gap", "9", "rows.jsonl")
    well(folder, *words)
    well(folder, "shards", "1", "out")
    well(folder, "shards", "2", "out")
    done = prefpairs(folder, "shards", "finish", "out")
    assert done.returncode == 3
    assert "the result has no pairs" in done.stderr
    assert "rows                90 read" in done.stderr
    well(folder, *words, "--allow-empty")
    do_all(folder)
    well(folder, *PAIR, "rows.jsonl", "--require", "pairs>=31", "--summary", "counts.json")
    well(folder, "shards", "1", "out")
    well(folder, "shards", "2", "out")
    assert prefpairs(folder, "shards", "finish", "out").returncode == 4
    assert json.loads((folder / "counts.json").read_text())["pairs"] == 30


def test_candidates_that_got_lost_between_steps_are_noticed(folder: Path) -> None:
    """Each part must have as many candidates as were found for it."""
    well(folder, *PAIR, "--range-size", "1KB", "--parts", "1", "rows.jsonl")
    well(folder, "shards", "1", "out")
    well(folder, "shards", "2", "out")
    (path,) = (folder / "out" / WORK).glob("*/2/00000/done")
    version, receipt = msgspec.msgpack.decode(path.read_bytes())
    path.write_bytes(msgspec.msgpack.encode((version, [receipt[0] - 1, *receipt[1:]])))
    done = prefpairs(folder, "shards", "finish", "out")
    assert (done.returncode, "part 0 has 89 candidates, not 90" in done.stderr) == (1, True)
    assert not [*(folder / "out").glob("part-*")]


def test_pairs_that_got_lost_between_steps_are_noticed(folder: Path) -> None:
    """The number of pairs decided and written must be the number indexed."""
    well(folder, "pair", "-q", "rows.jsonl", "-o", "pairs.jsonl")
    ways = ("--runner", "shards", "--out-dir", "out", "--range-size", "2KB", "pairs.jsonl")
    for number, problem in (("2", "bucket 0 has"), ("3", "part 0 has")):
        well(folder, "dedupe", *ways)
        for step in ("1", "2", "3"):
            well(folder, "shards", step, "out")
        (path,) = (folder / "out" / WORK).glob(f"*/{number}/00000/done")
        version, receipt = msgspec.msgpack.decode(path.read_bytes(), strict=False)
        path.write_bytes(msgspec.msgpack.encode((version, [receipt[0] + 1, *receipt[1:]])))
        done = prefpairs(folder, "shards", "finish", "out")
        assert (done.returncode, problem in done.stderr) == (1, True)
        path.unlink()
        well(folder, "shards", number, "out")
        well(folder, "shards", "finish", "out")


def test_another_version_is_refused(folder: Path) -> None:
    """Rejects a plan or receipt that another version wrote."""
    well(folder, *PAIR, "rows.jsonl")
    plan = folder / "out" / WORK / "plan.json"
    text = plan.read_text()
    plan.write_text(text.replace('"prefpairs": "', '"prefpairs": "9.'))
    assert "prefpairs 9." in refused(folder, "shards", "1", "out")
    plan.write_text(text)
    well(folder, "shards", "1", "out")
    (receipt,) = (folder / "out" / WORK).glob("*/1/*/done")
    content = receipt.read_bytes()
    version = content[2 : 2 + (content[1] & 31)]
    receipt.write_bytes(content.replace(version, version[:-1] + b"9", 1))
    assert "all steps need the same version" in refused(folder, "shards", "2", "out")


def test_a_plan_runs_no_other_command(folder: Path) -> None:
    """A plan is parsed, not executed; another command in it is rejected."""
    well(folder, *PAIR, "rows.jsonl")
    plan = folder / "out" / WORK / "plan.json"
    plan.write_text(plan.read_text().replace('"pair"', '"submit"', 1))
    done = prefpairs(folder, "shards", "1", "out")
    assert (done.returncode, "no command that has steps" in done.stderr) == (1, True)


def test_a_folder_that_was_moved_is_refused(folder: Path) -> None:
    """Rejects a moved folder, since the results would go to its old place."""
    well(folder, *PAIR, "rows.jsonl")
    (folder / "out").rename(folder / "elsewhere")
    assert "were planned for" in refused(folder, "shards", "1", "elsewhere")
    assert "there is no plan of steps" in refused(folder, "shards", "1", "out")


def test_parts_of_a_split_are_like_its_files(folder: Path) -> None:
    """`split --like` and `export` read the parts of an earlier split, each for its side."""
    well(folder, "pair", "-q", "rows.jsonl", "-o", "pairs.jsonl")
    words = ("split", "--test-fraction", "0.2", "pairs.jsonl", "--out-dir")
    well(folder, *words, "out", "--runner", "shards", "--range-size", "1KB")
    do_all(folder)
    assert [*(folder / "out").glob("train-*")]
    again = ("split", "-q", "--seed", "3", "--like", "out", "pairs.jsonl", "--out-dir", "again")
    well(folder, *again)
    well(folder, "export", "-q", "--to", "trl", "out", "--out-dir", "trl")
    for side in ("train", "val", "test"):
        parts = sorted((folder / "out").glob(f"{side}-*"))
        joined = b"".join(part.read_bytes() for part in parts)
        assert joined
        assert (folder / "again" / f"{side}.jsonl").read_bytes() == joined
        exported = (folder / "trl" / f"{side}.jsonl").read_bytes()
        assert exported.count(b"\n") == joined.count(b"\n")
    assert "test-00000-of-00010.jsonl is a file of another" in refused(folder, *words, "out")


@pytest.mark.parametrize("number", ["map", "0", "3", "-1"])
def test_rounds_are_checked(number: str, folder: Path) -> None:
    """A round must be one that was planned."""
    well(folder, *PAIR, "rows.jsonl")
    said = refused(folder, "shards", "--", number, "out")
    assert "there is no round" in said or "expected the number of a round" in said


@pytest.mark.parametrize("share", ["1", "2/2", "0/0", "-1/3", "a/b"])
def test_shares_are_checked(share: str, folder: Path) -> None:
    """A share must be one of a number of shares, such as 3/8."""
    well(folder, *PAIR, "rows.jsonl")
    assert "expected a share" in refused(folder, "shards", "1", "out", "--", share)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--runner", "spark"], "unknown"),
        (["--runner", "ray:"], "is empty"),
        (["--parts", "3"], "--parts requires --runner shards"),
        (["--range-size", "3MB"], "--range-size requires --runner shards"),
    ],
)
def test_options_of_runners_are_checked(words: list[str], problem: str, folder: Path) -> None:
    """Rejects unknown runners, and options that the local runner does not use."""
    assert problem in refused(folder, "pair", *words, "rows.jsonl")


def test_how_many_steps_there_are_by_default(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of steps depends on the size, up to a maximum; small files share a step."""
    plan = Plan(read=ReadPlan(paths=[str(folder / "rows.jsonl")]).found())
    size = (folder / "rows.jsonl").stat().st_size
    assert len(step_plan(plan, [], "/").pieces) == 1
    monkeypatch.setattr(steps_module, "_LEAST", size // 8)
    assert len(step_plan(plan, [], "/").pieces) == 8
    monkeypatch.setattr(steps_module, "_MOST_STEPS", 3)
    assert len(step_plan(plan, [], "/").pieces) == 4
    for number in range(20):
        write(folder / f"small-{number}.jsonl", 3)
    paths = sorted(str(path) for path in folder.glob("small-*"))
    steps = step_plan(Plan(read=ReadPlan(paths=paths).found()), [], "/")
    assert [piece.input for step in steps.pieces for piece in step] == [*range(20)]
    assert len(steps.pieces) == steps.parts == 4
