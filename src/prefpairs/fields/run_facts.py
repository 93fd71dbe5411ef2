"""What rows show of how all of them must be read: facts of a run, not of a row.

A row alone is read by its own names. Only some things show in others, and a fact tells them:
that `answer` is beside what the model said, that a prompt which ends in an answer has a
response elsewhere. Facts are few, whatever the number of rows;
those of a run agree, or it ends. In which order they come decides nothing.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from prefpairs.errors import ArePairs, OtherRows, TwoReadings
from prefpairs.fields.names import EITHER, NAMES
from prefpairs.fields.training_logs import TRAINING_LOGS
from prefpairs.fields.two_readings import Fact

_MOST_KEYS = 20
_MOST_CHOICES = 3
_MOST_SEEN = 4096
_KEY = "key"


class Shown:
    """The facts that the rows of a run have shown so far."""

    def __init__(self) -> None:
        self._facts: dict[Fact, None] = {}
        self._seen: set[tuple[Fact, ...]] = set()

    def add(self, shown: tuple[Fact, ...]) -> None:
        """Take in what a row shows; TwoReadings if another row shows otherwise."""
        if shown in self._seen:
            return
        if len(self._seen) >= _MOST_SEEN:  # rows that are all different: most of them show no more
            self._seen.clear()
        self._seen.add(shown)
        for fact in shown:
            if fact not in self._facts and (fact[0] != _KEY or self._has_room()):
                self._facts[fact] = None
                self._hold_against_others(fact)

    def _has_room(self) -> bool:
        """Whether one more field is worth to be named to people."""
        return sum(fact[0] == _KEY for fact in self._facts) < _MOST_KEYS

    def agree(self, facts: Iterable[Fact]) -> bool:
        """Whether what others were shown can be true beside this; if so, it is taken in."""
        both = Shown()
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
        """The facts of a kind, each without its first word."""
        return sorted(fact[1:] for fact in self._facts if fact[0] == kind)

    def has(self, *fact: str) -> bool:
        """Whether some row showed just that."""
        return fact in self._facts

    def notes(self) -> Iterator[str]:
        """Sentences on what was guessed."""
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
        for log in TRAINING_LOGS:
            if self.has("log", log.name):
                score = " + ".join(path for of, path in self.of("scored") if of == log.name)
                yield log.note.format(score=score)
            if self.has("log as text", log.name):
                yield log.note_on_text
        for reference in sorted({name for name, *_ in self.of("stands beside")}):
            yield f'"{reference}" is taken for the reference, and is in no pair'
        for column, how in self.of("joined"):
            yield f'"{column}" is part of the question: {how}'

    def refuse(self, known: Collection[str], files: Sequence[str] = ()) -> None:
        """Raise for what no row of these files had and nobody named, where nothing was read."""
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
        """Raise if `answer` is taken for what the model said, and looks like the reference.

        The sign is one answer in all rows of a prompt, whose scores differ.
        """
        rivals = [name for (name,) in self.of("rival")]
        names = [name for name in self._guessed("response") if name in EITHER]
        if rivals and names and (groups := constant_groups()):
            problem = (
                f'"{names[0]}" is the same in all rows of {groups} '
                f"{'prompt whose' if groups == 1 else 'prompts whose'} scores differ: "
                "is it the reference?"
            )
            paths = (*rivals[:_MOST_CHOICES], names[0])
            raise TwoReadings(problem, [("--response", path) for path in paths])

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

    def _guessed(self, what: str) -> list[str]:
        return [name for of, name in self.of("guessed") if of == what]

    def _silent_beside(self, what: str) -> list[tuple[str, str]]:
        return [(silent, other) for of, silent, other in self.of("silent beside") if of == what]

    def _check_silent(self, what: str, silent: str, other: str) -> None:
        """A field that says nothing in one row is not replaced by another, if others read it."""
        same = [path for of, path in self.of("says the same") if of == what]
        if silent in (path.partition("[]")[0] for path in (*self._guessed(what), *same)):
            problem = f'"{silent}" is empty in some rows: is the {what} of those "{other}"?'
            names = sorted((silent, other), key=_rank(NAMES[what]))
            raise TwoReadings(problem, [(f"--{what}", name) for name in names])

    def _check_reference(self, name: str) -> None:
        """`answer` is what the model said in all rows, or a reference in all of them."""
        if not self.has("answered by", name):
            return
        outputs, talks = self._beside(name, "stands beside"), self._beside(name, "beside a talk")
        choices = [(output, ("--response", output)) for output in outputs]
        for beside, choice in (*choices, *((talk, ("--ignore", name)) for talk in talks)):
            problem = (
                f'"{name}" stands alone in some rows, and beside "{beside}" in others: '
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

    def _check_turns(self, name: str) -> None:
        """Prompts of later turns are no whole questions: what was said before is in other rows."""
        facts = [(number, inside) for of, number, inside in self.of("turn") if of == name]
        numbers = {number for number, _ in facts}
        if "2" in numbers or numbers >= {"0", "1"}:
            problem = (
                f'"{name}" numbers turns, and the prompts hold none of those before: '
                "do answers to one prompt of several conversations compete?"
            )
            apart = sorted({f"{inside},{name}" for _, inside in facts if inside})
            raise TwoReadings(problem, [("--group-by", by) for by in (*apart, "prompt")])


def _firsts(facts: Iterable[Sequence[str]]) -> list[str]:
    return [fact[0] for fact in facts]


def _either(names: Sequence[str]) -> str:
    return " or ".join(f'"{name}"' for name in names)


def _rank(names: Sequence[str]) -> Callable[[str], tuple[int, str]]:
    """The order in which notes name fields; paths come last."""
    return lambda name: (names.index(name) if name in names else len(names), name)
