"""Facts that some rows show about how all rows of a run must be read.

Each row is read by its own column names. Some things show only in other rows, and are recorded
as facts: that `answer` is the reference next to the model's answer, or that other rows have a
response next to a prompt that ends in an answer. There are few facts, however many rows. If the
facts of a run contradict each other, the run stops; their order does not matter.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from prefpairs.errors import ArePairs, OtherRows, TwoReadings
from prefpairs.fields.field_names import MAYBE_REFERENCE, NAMES, REFERENCES
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.candidate import EXTRACTED

Fact = tuple[str, ...]
"""The kind of a fact, and what it says."""

LOG_OF = "log of"
"""The kind of the fact that a rollout is of training, or of validation."""

_MOST_KEYS = 20
_MOST_CHOICES = 3
_MOST_SEEN = 4096
_KEY = "key"


class CrossRowFacts:
    """The facts found so far in the rows of a run."""

    def __init__(self) -> None:
        self._facts: dict[Fact, None] = {}
        self._seen: set[tuple[Fact, ...]] = set()

    def add(self, facts: tuple[Fact, ...]) -> None:
        """Add the facts of a row; raises TwoReadings if another row contradicts them."""
        if facts in self._seen:
            return
        if len(self._seen) >= _MOST_SEEN:  # all rows differ: most of them add no facts
            self._seen.clear()
        self._seen.add(facts)
        for fact in facts:
            if fact not in self._facts and (fact[0] != _KEY or self._has_room()):
                self._facts[fact] = None
                self._hold_against_others(fact)

    def _has_room(self) -> bool:
        """Whether another column name should be remembered for error messages."""
        return sum(fact[0] == _KEY for fact in self._facts) < _MOST_KEYS

    def agree(self, facts: Iterable[Fact]) -> bool:
        """Add facts found elsewhere unless they contradict these; whether they were added."""
        both = CrossRowFacts()
        try:
            both.add((*self._facts, *facts))
        except TwoReadings:
            return False
        self._facts = both._facts
        return True

    def all(self) -> list[Fact]:
        """All facts, in order of arrival."""
        return list(self._facts)

    def of(self, kind: str) -> list[Fact]:
        """The facts of one kind, each without its first word."""
        return sorted(fact[1:] for fact in self._facts if fact[0] == kind)

    def has(self, *fact: str) -> bool:
        """Whether some row showed this fact."""
        return fact in self._facts

    def notes(self) -> Iterator[str]:
        """Notes on what was guessed."""
        found = {
            what: [f'"{name}"' for name in sorted(self._guessed(what), key=_rank(names))]
            for what, names in NAMES.items()
        }
        if turns := self.of("talks"):
            found["response"].append(f"the model's last turn in {_either(_firsts(turns))}")
        guessed = [f"{what} is {' or '.join(given)}" for what, given in found.items() if given]
        if guessed:
            yield f"guessed: {', '.join(guessed)}"
        scales = {path.rpartition(".")[2].removesuffix("s") for path in self._guessed("score")}
        if len(scales) > 1:
            names = " and ".join(found["score"])
            yield f"answers to one prompt compete by {names} alike; --score takes one of them"
        if self.of("log") or self.of("log as text"):
            yield from self._notes_on_logs()
        for reference in sorted({name for name, *_ in self.of("stands beside")}):
            yield f'"{reference}" is read as the reference, and is in no pair'
        for column, how in self.of("joined"):
            yield f'"{column}" is part of the question: {how}'

    def _notes_on_logs(self) -> Iterator[str]:
        from prefpairs.fields.training_logs import TRAINING_LOGS

        for log in TRAINING_LOGS:
            if self.has("log", log.name):
                score = " + ".join(path for of, path in self.of("scored") if of == log.name)
                yield log.note.format(score=score)
            if self.has("log as text", log.name):
                yield log.note_on_text

    def refuse(self, known: Collection[str], files: Sequence[str] = ()) -> None:
        """If nothing could be read, raise for the field that no row had and no option named."""
        if not self.has("row"):
            return
        if self.has("pairs"):
            raise ArePairs(files)
        for what in ("prompt", "response", "score"):
            if what not in known and not self.has("has", what):
                keys = ", ".join(fact[1] for fact in self._facts if fact[0] == _KEY)
                hint = f"name it with --{what} PATH; the rows have: {keys}"
                choices = sorted(self.of("try"), key=len)[:_MOST_CHOICES]
                raise OtherRows(f"cannot tell which field holds the {what}", hint, choices)

    def check_answers(self, constant_groups: Callable[[], int]) -> None:
        """Raise if `answer` is read as the response, but looks like the reference.

        It looks so if all rows of a prompt have the same answer with different scores.
        """
        rivals = [name for (name,) in self.of("rival")]
        names = [name for name in self._guessed("response") if name in MAYBE_REFERENCE]
        if rivals and names and (groups := constant_groups()):
            problem = (
                f'"{names[0]}" is the same in all rows of {groups} '
                f"{'prompt whose' if groups == 1 else 'prompts whose'} scores differ: "
                "is it the reference?"
            )
            paths = (*rivals[:_MOST_CHOICES], names[0])
            raise TwoReadings(problem, [("--response", path) for path in paths])

    def check_references(self, mixed: Mapping[str, int], options: ReadOptions) -> None:
        """Raise if candidates with different references would compete.

        Given are the numbers of such prompts, by the columns of the references.
        """
        if not mixed:
            return
        count = sum(mixed.values())
        names = sorted({*",".join(mixed).split(",")}, key=_rank(REFERENCES))
        rows = "rows of one prompt" if count == 1 else f"rows of {count} prompts"
        columns = [name.rpartition(".")[2] for name in names]
        problem = (
            f"{rows} have different references in {_either(columns)}: "
            "are these rows of different tasks, or of one?"
        )
        task = "group" if names == [EXTRACTED] else "prompt"
        if options.group_by == "file" and task == "prompt":
            task = "file,prompt"
        ways = [*(f"{task},{name}" for name in columns), task]
        raise TwoReadings(problem, [("--group-by", way) for way in ways])

    def _hold_against_others(self, fact: Fact) -> None:
        kind = fact[0]
        if kind in ("answered by", "stands beside", "beside a talk"):
            self._check_reference(fact[1])
        elif kind in ("guessed", "says the same"):
            for silent, other in self._silent_beside(fact[1]):
                self._check_silent(fact[1], silent, other)
        elif kind == "silent beside":
            self._check_silent(*fact[1:])
        elif kind in ("talks", "is answered"):
            self._check_conversation(fact[1])
        elif kind == "turn":
            self._check_turns(fact[1])
        elif kind == "scored by":
            self._check_scores()
        elif kind == LOG_OF:
            self._check_logs()

    def _guessed(self, what: str) -> list[str]:
        return [name for of, name in self.of("guessed") if of == what]

    def _silent_beside(self, what: str) -> list[tuple[str, str]]:
        return [(silent, other) for of, silent, other in self.of("silent beside") if of == what]

    def _check_silent(self, what: str, silent: str, other: str) -> None:
        """Raise if a field is empty in one row, where another is read, but used in other rows."""
        same = [path for of, path in self.of("says the same") if of == what]
        if silent in (path.partition("[]")[0] for path in (*self._guessed(what), *same)):
            problem = f'"{silent}" is empty in some rows: is the {what} of those "{other}"?'
            names = sorted((silent, other), key=_rank(NAMES[what]))
            raise TwoReadings(problem, [(f"--{what}", name) for name in names])

    def _check_reference(self, name: str) -> None:
        """Raise if `answer` is the response in some rows, and a reference in others."""
        if not self.has("answered by", name):
            return
        outputs, talks = self._beside(name, "stands beside"), self._beside(name, "beside a talk")
        choices = [(output, ("--response", output)) for output in outputs]
        for beside, choice in (*choices, *((talk, ("--ignore", name)) for talk in talks)):
            problem = (
                f'some rows have "{name}" alone, and others next to "{beside}": '
                "is it what the model said?"
            )
            raise TwoReadings(problem, [choice, ("--response", name)])

    def _beside(self, name: str, kind: str) -> list[str]:
        return [other for reference, other in self.of(kind) if reference == name]

    def _check_conversation(self, path: str) -> None:
        answers = [response for prompt, response in self.of("is answered") if prompt == path]
        if answers and self.has("talks", path):
            problem = (
                f'"{path}" ends in an answer where there is no "{answers[0]}", which other rows '
                "have: is it the response?"
            )
            choices = [("--response", answers[0]), ("--ignore", answers[0])]
            raise TwoReadings(problem, choices)

    def _check_scores(self) -> None:
        """Raise if rows have different scores, of which only one should count."""
        names = [name for (name,) in self.of("scored by")]
        if len(names) > 1:
            quoted = " and ".join(f'"{name}"' for name in names)
            problem = f"the rows have several scores, {quoted}: which of them counts?"
            raise TwoReadings(problem, [("--score", name) for name in names])

    def _check_logs(self) -> None:
        """Raise if rollouts of training and validation, whose rewards may differ, could compete."""
        if len(self.of(LOG_OF)) > 1:
            problem = (
                "the logs are of training and of validation, whose rewards may differ: name the "
                "files of one kind, or say whether rollouts of both compete"
            )
            raise TwoReadings(problem, [("--group-by", by) for by in ("file", "prompt")])

    def _check_turns(self, name: str) -> None:
        """Raise for prompts of later turns, whose earlier turns are in other rows."""
        facts = [(number, inside) for of, number, inside in self.of("turn") if of == name]
        numbers = {number for number, _ in facts}
        if "2" in numbers or numbers >= {"0", "1"}:
            problem = (
                f'"{name}" numbers turns, and the prompts do not contain the earlier turns: '
                "do answers to one prompt of several conversations compete?"
            )
            apart = sorted({f"{inside},{name}" for _, inside in facts if inside})
            raise TwoReadings(problem, [("--group-by", by) for by in (*apart, "prompt")])


def _firsts(facts: Iterable[Sequence[str]]) -> list[str]:
    return [fact[0] for fact in facts]


def _either(names: Sequence[str]) -> str:
    return " or ".join(f'"{name}"' for name in names)


def _rank(names: Sequence[str]) -> Callable[[str], tuple[int, str]]:
    """The order in which notes list fields; paths come last."""
    return lambda name: (names.index(name) if name in names else len(names), name)
