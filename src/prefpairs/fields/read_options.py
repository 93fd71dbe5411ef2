"""The options that say what is read out of rows: scores, prompts, responses, groups."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isfinite, nan
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, cast

from prefpairs.errors import OptionNeeds, OptionsBothNeeded, OptionsConflict, UsageError
from prefpairs.fields.field_names import is_less_better
from prefpairs.model.marks import MARKS
from prefpairs.model.message import Message
from prefpairs.option import flag, one_of, option, options, split_words
from prefpairs.reasons import CONFLICTING, SWITCHABLE, UNFINISHED

if TYPE_CHECKING:
    from prefpairs.fields.joined_rows import JoinTable
    from prefpairs.fields.preference_label import Meanings
    from prefpairs.fields.rollout_tokens import Decoder

READ = "Input"
TROUBLE = "Bad rows and limits"

GroupBy = tuple[str, ...] | Literal["auto", "prompt", "file"]


class Unrender(Protocol):
    """Turns rendered text back into messages, by the chat template that rendered it."""

    def messages(self, text: str) -> list[Message] | None:
        """The messages from which the template makes just this text, if there are any.

        Raises Unclear where several conversations give the text without its special tokens.
        """
        ...


def _scores(words: Sequence[str] | None) -> tuple[tuple[str, float], ...]:
    """Paths and their weights; a path that came twice would count twice."""
    scores = [*map(_score, words or ())]
    weights: dict[str, float] = {}
    for path, weight in scores:
        if path in weights:
            problem = f"--score {path} is given twice: with weights {weights[path]:g} and"
            raise UsageError(f"{problem} {weight:g}", "give it once, with one weight")
        weights[path] = weight
    return tuple(scores)


def _score(word: str) -> tuple[str, float]:
    """A path and its weight; a colon that no number follows belongs to the path."""
    path, colon, weight = word.rpartition(":")
    try:
        factor = float(weight) if colon else 1.0
    except ValueError:
        return word, 1.0
    if not isfinite(factor):
        raise UsageError(f"--score {word}: the weight is no number")
    return (path if colon else word), factor


def _score_map(words: list[str] | None) -> tuple[tuple[str, float], ...]:
    """What texts count as, in the order in which they were given."""
    grades: dict[str, float] = {}
    for word in split_words(words):
        text, sign, number = word.rpartition("=")
        try:
            grade = float(number) if sign else nan
        except ValueError:
            grade = nan
        if not isfinite(grade):
            problem = f"--score-map {word}: expected a text and a number"
            raise UsageError(problem, "as in --score-map C=1,P=0.5,I=0")
        if grades.setdefault(text, grade) != grade:
            raise UsageError(f"--score-map gives {text} twice, as {grades[text]:g} and {grade:g}")
    return tuple(grades.items())


def _preference_map(words: list[str] | None) -> "Meanings":
    from prefpairs.fields.preference_label import read_meanings

    return read_meanings(words)


def _group_by(word: str) -> GroupBy:
    if word in ("auto", "prompt", "file"):
        return cast("GroupBy", word)
    paths = _group_keys(word)
    if not paths:
        raise UsageError("--group-by names nothing", "auto, prompt, file, or fields of the rows")
    for path in paths:
        group_key(path)
    return paths


def _group_keys(word: str) -> tuple[str, ...]:
    """The words of --group-by. Commas in the brackets of a regular expression separate nothing.

    >>> _group_keys("uid~(.+)_[0-9]{1,3}$,run")
    ('uid~(.+)_[0-9]{1,3}$', 'run')
    """
    words, brackets = [""], ""
    for piece in _PIECE.findall(word):
        if piece == "," and not brackets:
            words.append("")
            continue
        in_pattern = "~" in words[-1]
        words[-1] += piece
        if in_pattern and piece in _CLOSING.values():
            brackets = brackets.removesuffix(piece)
        elif in_pattern and piece in _CLOSING and not brackets.endswith("]"):
            brackets += _CLOSING[piece]
    if brackets:  # one of them means itself
        return split_words([word])
    return tuple(stripped for each in words if (stripped := each.strip()))


_PIECE = re.compile(r"\\.|.", re.DOTALL)
"""A character, or one that is escaped."""
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class GroupKey(NamedTuple):
    """What a word of --group-by names: a field, a run of its numbers, or a part of its text."""

    path: str
    run: int | None = None
    """How many numbers, from 0, are one group."""
    pattern: re.Pattern[str] | None = None
    """What the text is searched for; its first group is the value, or else all that it matches."""


_RUN = re.compile(r"(.+)//([1-9][0-9]*)")


@lru_cache
def group_key(word: str) -> GroupKey:
    """What a word of --group-by names.

    >>> group_key("idx//4").run, group_key("uid~(.+)_[0-9]+$").path, group_key("id")[1:]
    (4, 'uid', (None, None))
    """
    if found := _RUN.fullmatch(word):
        return GroupKey(found[1], run=int(found[2]))
    path, sign, pattern = word.partition("~")
    if not (path and sign and pattern):
        return GroupKey(word)
    try:
        return GroupKey(path, pattern=re.compile(pattern))
    except (re.error, OverflowError, RecursionError) as error:
        problem = f"--group-by {word}: not a regular expression ({error})"
        raise UsageError(
            problem, "such as uid~(.+)_[0-9]+$ for what is before the last number"
        ) from None


def _reasons_to_keep(words: list[str] | None) -> frozenset[str]:
    return frozenset(one_of("reason", word, *SWITCHABLE) for word in split_words(words))


def _reasons_to_drop(words: list[str] | None) -> frozenset[str]:
    known = *MARKS, CONFLICTING
    return frozenset(one_of("--drop-rows", word, *known) for word in split_words(words))


@options
class ReadOptions:
    """How rows of rollouts are read."""

    scores: tuple[tuple[str, float], ...] = option(
        (),
        "--score",
        metavar="PATH[:WEIGHT]",
        panel=READ,
        repeated=True,
        convert=_scores,
        help="Dotted path of the score, or its name where the format has named scores. Several "
        "scores are added, multiplied by their weights.",
    )
    lower_is_better: bool = flag(panel=READ, help="Lower scores are better.")
    score_map: tuple[tuple[str, float], ...] = option(
        (),
        metavar="TEXT=NUMBER,...",
        panel=READ,
        repeated=True,
        convert=_score_map,
        help="What texts, numbers or booleans count as where they are scores, such as "
        "C=1,P=0.5,I=0. All others count as they are.",
    )
    cast_score: bool = flag(
        panel=READ, help='Read scores that are written as text ("0.7", "true"), as in CSV and TSV.'
    )
    prompt: str | None = option(
        None, metavar="PATH", panel=READ, help="Path of the prompt (text or messages)."
    )
    response: str | None = option(
        None, metavar="PATH", panel=READ, help="Path of the response, or of a list of responses."
    )
    preference: str | None = option(
        None,
        metavar="PATH",
        panel=READ,
        help="Rows that compare two answers: path of the label that says which is preferred.",
    )
    response_a: str | None = option(
        None, metavar="PATH", panel=READ, help="With --preference: path of answer A."
    )
    response_b: str | None = option(
        None, metavar="PATH", panel=READ, help="With --preference: path of answer B."
    )
    preference_map: "Meanings" = option(
        (),
        metavar="LABEL=A|B|tie,...",
        panel=READ,
        repeated=True,
        convert=_preference_map,
        help="What labels mean, such as 1=A,0=B. negative=A: negative numbers prefer A, positive "
        "ones B, and 0 is a tie.",
    )
    prefer: tuple[str, ...] = option(
        (),
        metavar="NAME,...",
        panel=READ,
        repeated=True,
        convert=split_words,
        help="Answers without scores: prefer those of these models, or of whatever --by names.",
    )
    over: tuple[str, ...] = option(
        (),
        metavar="NAME,...",
        panel=READ,
        repeated=True,
        convert=split_words,
        help="With --prefer: over the answers of these.",
    )
    by: str | None = option(
        None, metavar="PATH", panel=READ, help="With --prefer: the field that has the names."
    )
    join: list[str] | None = option(
        None,
        metavar="FILE",
        panel=READ,
        help="Add the columns of another file's rows, such as scores or the input of a batch. Its "
        "rows are held in memory. Repeatable.",
    )
    on: tuple[str, ...] = option(
        (),
        metavar="PATH,...",
        panel=READ,
        repeated=True,
        convert=split_words,
        help="With --join: the fields in which rows of both files agree.",
    )
    context: tuple[str, ...] = option(
        (),
        metavar="PATH,...",
        panel=READ,
        repeated=True,
        convert=split_words,
        help="Rows of your own: more text of the question, to put before the prompt.",
    )
    ignore: tuple[str, ...] = option(
        (),
        metavar="COLUMN,...",
        panel=READ,
        repeated=True,
        convert=split_words,
        help="Rows of your own: columns to ignore.",
    )
    group_by: GroupBy = option(
        "auto",
        metavar="auto|prompt|file|PATH,...",
        panel=READ,
        convert=_group_by,
        help="Which candidates compete: those of one task (auto), prompt or file, or those that "
        "agree in these fields (prompt and file may be among them); idx//4 makes a group of each "
        "4 numbers from 0, and uid~(.+)_[0-9]+$ takes a part of a text by a regular expression. "
        "Different prompts never compete. Trinity-RFT: also task, run, step, or sample for one "
        "item of the dataset across epochs.",
    )
    step_name: str = option(
        "dpo_candidate_move",
        metavar="NAME",
        panel=READ,
        help="NAT: the name of the TTC steps to use.",
    )
    response_part: str = option(
        "full",
        choices=("full", "final"),
        panel=READ,
        help="Use the whole turn with tool calls and results, or only its last text.",
    )
    reasoning: str = option(
        "keep",
        choices=("keep", "drop"),
        panel=READ,
        help="Keep reasoning in reasoning_content, or drop it.",
    )
    prompt_template: str | None = option(
        None,
        metavar="FILE",
        panel=READ,
        help="For logs of Trinity-RFT, verl and TRL 1.14: the chat template that rendered the "
        "prompts (chat_template.jinja, tokenizer_config.json), to turn them back into "
        "messages.",
    )
    tokenizer: str | None = option(
        None,
        metavar="FILE|DIR",
        panel=READ,
        help="The model's tokenizer.json or its directory, for Trinity-RFT rows with only tokens "
        "and for --to tokens.",
    )
    keep: tuple[str, ...] = option(
        (),
        metavar="PATH,...",
        panel=READ,
        repeated=True,
        convert=split_words,
        help="Fields to copy into meta.",
    )
    keep_rows: frozenset[str] = option(
        frozenset(),
        metavar="REASON,...",
        panel=TROUBLE,
        repeated=True,
        convert=_reasons_to_keep,
        help="Use rows that would be dropped for these reasons: "
        f"{', '.join(SWITCHABLE)}. A missing score counts as 0.",
    )
    drop_rows: frozenset[str] = option(
        frozenset(),
        metavar="REASON,...",
        panel=TROUBLE,
        repeated=True,
        convert=_reasons_to_drop,
        help="Drop answers that would be used, for these reasons: incomplete (in rows of your "
        "own, finish_reason or the like says that they are truncated), failed (they have an "
        "error), conflicting_scores (the same answer has several scores in its group).",
    )

    joined: "Sequence[JoinTable]" = ()
    """The files to join, once they are read."""
    decoder: "Decoder | None" = None
    """The tokenizer, once it is opened."""
    unrender: Unrender | None = None
    """The prompt template, once it is opened."""

    def check(self) -> None:
        """Raise for options that do not go together."""
        self._check_preference()
        self._check_makers()
        if bool(self.join) != bool(self.on):
            raise OptionsBothNeeded("--join FILE", "--on PATH")
        if "-" in (self.join or ()):
            raise UsageError("--join -: standard input is for the rows", "name a file")
        if self.lower_is_better and "no_score" in self.keep_rows:
            problem = "--keep-rows no_score would count a missing score as the best one"
            raise UsageError(problem, "omit it, or do without --lower-is-better")
        if self.reasoning == "drop" and UNFINISHED in self.keep_rows:
            raise OptionsConflict(f"--keep-rows {UNFINISHED}", "--reasoning drop")
        for reason in sorted(self.keep_rows & self.drop_rows):
            problem = f"--keep-rows and --drop-rows both name {reason}"
            raise UsageError(problem, "leave one of them out")

    def _check_preference(self) -> None:
        answers = {"--response-a": self.response_a, "--response-b": self.response_b}
        if self.preference is None:
            for name, path in answers.items():
                if path is not None:
                    raise OptionNeeds(name, "--preference")
            return
        for name, path in answers.items():
            if path is None:
                raise OptionNeeds("--preference", name)
        if self.response is not None or self.scores:
            other = "--score" if self.scores else "--response"
            reason = "a label compares two answers, a score belongs to one"
            raise OptionsConflict("--preference", other, reason=reason)

    def _check_makers(self) -> None:
        given = {"--prefer": self.prefer, "--over": self.over, "--by": self.by}
        for name, value in given.items():
            if any(given.values()) and not value:
                raise OptionNeeds(next(one for one in given if given[one]), name)
        for name in self.prefer:
            if name in self.over:
                raise UsageError(f"--prefer and --over both name {name}")
        if self.prefer and (self.scores or self.preference):
            other = "--score" if self.scores else "--preference"
            reason = "it is for answers of which nothing says how good they are"
            raise OptionsConflict("--prefer", other, reason=reason)

    def references_matter(self) -> bool:
        """Whether answers with different references compete without anyone having said so."""
        return self.group_by in ("auto", "file") and not self.prefer

    def named_fields(self) -> frozenset[str]:
        """The fields of a row that are kept or are scores; large ones are read only then."""
        paths = (*self.keep, *(path for path, _ in self.scores))
        return frozenset(path.partition(".")[0] for path in paths)

    def notes_on_direction(self) -> Iterator[str]:
        """A note for each score whose name says that less is better, while more is taken to be.

        Read the wrong way, every pair would prefer the worse answer.
        """
        for path, weight in self.scores:
            if weight > 0 and not self.lower_is_better and is_less_better(path.rpartition(".")[2]):
                alone = len(self.scores) == 1
                turned = "--lower-is-better" if alone else f"--score {path}:{-weight:g}"
                yield f'the more "{path}", the better the answer; if less of it is better: {turned}'


def is_default_reading(options: ReadOptions) -> bool:
    """Whether no option changes what is read out of a row in its usual shape."""
    harmless = ReadOptions(
        step_name=options.step_name,
        context=options.context,
        ignore=options.ignore,
        cast_score=options.cast_score,
        prompt_template=options.prompt_template,
        tokenizer=options.tokenizer,
        keep_rows=options.keep_rows,
        drop_rows=options.drop_rows,
        decoder=options.decoder,
        unrender=options.unrender,
    )
    return options == harmless
