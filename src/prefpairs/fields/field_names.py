"""The column names by which fields are found; docs/guesses.md lists them as a table."""

import re

from prefpairs.model.question_columns import HISTORY, INPUT, PASSAGES, PROMPTS, SYSTEM

CHATS = ("messages", "conversation", "conversations")
OUTPUTS = (
    "response",
    "completion",
    "output",
    "generation",
    "prediction",
    "model_output",
    "model_response",
    "model_answer",
    "model_completion",
    "model_generation",
    "generated_text",
    "generated_answer",
    "generated_response",
    "generated_solution",
    "output_response",
    "output_text",
    "response_text",
    "llm_response",
    "llm_output",
    "assistant_response",
)
"""Names that only an output of a model has."""
MANY_OUTPUTS = (
    "responses",
    "completions",
    "outputs",
    "generations",
    "predictions",
    "model_outputs",
    "model_responses",
)
LISTS_OF_ANSWERS = ("samples", "candidates", "rollouts")
"""Names of answers if they are lists of objects; elsewhere they may be counts or choices."""
CONVERSATIONS = (
    "conversation_id",
    "conv_id",
    "session_id",
    "dialogue_id",
    "dialog_id",
    "thread_id",
    "chat_id",
)
TURNS = ("turn", "turn_id", "turn_idx", "turn_index", "turn_number", "turn_num")
"""Columns of logs that have one row per turn of a conversation."""
MAYBE_REFERENCE = ("answer", "answers")
"""What a model said, or the reference answer."""
USUALLY_REFERENCE = (
    "solution",
    "solutions",
    "final_answer",
    "predicted_answer",
    "extracted_answer",
    "student_answer",
    "pred",
    "text",
)
"""Usually a reference or an extract: never guessed, but a rival of `answer`."""
REFERENCES = (
    "ground_truth",
    "ground_truths",
    "reference",
    "references",
    "reference_answer",
    "reference_answers",
    "reference_solution",
    "gold",
    "gold_answer",
    "gold_answers",
    "golden_answer",
    "golden_answers",
    "gt",
    "gt_answer",
    "expected",
    "expected_answer",
    "expected_answers",
    "expected_output",
    "correct_answer",
    "correct_answers",
    "target",
    "targets",
    *MAYBE_REFERENCE,
    "solution",
)
"""References, against which answers may have been scored. Of several, the first counts."""
_EDITIONS = (
    "raw",
    "full",
    "original",
    "initial",
    "revised",
    "corrected",
    "edited",
    "refined",
    "rewritten",
    "final",
)
_SAID = ("response", "output", "completion", "generation")
VERSIONS = (
    *(f"{edition}_{said}" for edition in _EDITIONS for said in _SAID),
    *(f"{said}_{edition}" for edition in _EDITIONS[:2] for said in _SAID),
    *("raw_model_output", "model_output_raw", "raw_prediction"),
)
"""Edited or unedited versions of an answer: never guessed, but rivals of other names."""
THOUGHTS = (
    "reasoning_content",
    "reasoning",
    "thinking",
    "thinking_content",
    "reasoning_trace",
    "thoughts",
    "thought",
    "chain_of_thought",
    "cot",
)
"""The reasoning of a model before its answer."""
CALLS = ("tool_calls", "function_call")
SCORES = (
    "reward",
    "score",
    "rating",
    "final_reward",
    "total_reward",
    "final_score",
    "overall_score",
    "fine-grained_score",
)
VERDICTS = ("correct", "is_correct", "resolved", "passed")
"""Scores that must be true or false."""
MANY_SCORES = ("rewards", "scores", "ratings")
TEXTS_OF_ITEMS = (*OUTPUTS, "text", "content", "message", "answer")
"""The fields of a list item that may contain the answer."""

NAMES = {
    "prompt": (*PROMPTS, *CHATS),
    "response": (*OUTPUTS, *MANY_OUTPUTS, *LISTS_OF_ANSWERS, *MAYBE_REFERENCE),
    "score": (*SCORES, *VERDICTS, *MANY_SCORES),
}
"""The names of each field that is guessed, in the order in which notes list the fields."""

_BESIDE = (INPUT, *SYSTEM[:2], HISTORY[0], *PASSAGES)
RIVALS = frozenset({*NAMES["prompt"], *OUTPUTS[:4], *MANY_OUTPUTS[:4], *_BESIDE})
"""Columns that no training log has next to its own prompt and response."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_REFERENCE = re.compile(
    r"gold|golden|ref|references?|expected|truths?|targets?|gts?|correct|right|labels?"
    r"|judge|grader|system|tools?"
)
"""Words in names of references, or of what others than the model said."""
_ABOUT = re.compile(
    r"u?u?ids?|key|hash|index|type|kind|model|name|source|origin|split|subset|category|level"
    r"|difficulty|subject|topic|domain|lang|language|dataset|version|tags?|status|state|time"
    r"|timestamp|date|length|count|tokens|format|path|url|file|reason|step|run|feedback"
    r"|critique|comments?|config|params"
)
"""Last words of names for facts about an answer."""

JUDGING = frozenset({"score", "reward", "rating", "correct", "accuracy", "acc", "quality", "grade"})
JUDGING |= {"passed", "resolved", "success", "verdict", "correctness", "helpfulness", "label"}
JUDGING |= {"advantage", "judged"}
"""Words in names of possible scores, suggested to the user but never guessed."""
_LESS_IS_BETTER = frozenset({"rank", "ranking", "cost", "loss", "error", "mistake", "violation"})
_LESS_IS_BETTER |= {"hallucination", "toxicity", "perplexity", "ppl", "nll", "wer", "cer"}
_LESS_IS_BETTER |= {"distance", "latency", "ter", "brier", "mse", "rmse", "mae"}
_LESS_IS_BETTER |= {"failed", "fail", "failure", "wrong", "incorrect", "invalid"}
_LESS_IS_BETTER |= {"duration", "runtime", "second", "sec"}
_TURNED = frozenset({"reward", "free", "no", "negative", "neg", "inverse", "inverted", "reduction"})
"""Words in names of negated quantities, of which more is better."""


def words_of(name: str) -> frozenset[str]:
    """The words in a name, in lower case, and the singular of each.

    >>> sorted(words_of("modelReplies_v2"))
    ['2', 'model', 'replie', 'replies', 'v']
    """
    words = [word.lower() for word in _WORD.findall(name)]
    return frozenset((*words, *(word.removesuffix("s") for word in words)))


def is_something_else(name: str) -> bool:
    """Whether a column is a reference or a fact about an answer, by its name.

    >>> is_something_else("gold_response"), is_something_else("response_id")
    (True, True)
    """
    words = [word.lower() for word in _WORD.findall(name)]
    return any(map(_REFERENCE.fullmatch, words)) or bool(words and _ABOUT.fullmatch(words[-1]))


def is_called_score(name: str) -> bool:
    """Whether a column may be a score of which more is better, by its name.

    >>> is_called_score("my_scores"), is_called_score("token_counts"), is_called_score("ranks")
    (True, False, False)
    """
    judges = not words_of(name).isdisjoint(JUDGING) and not is_something_else(name)
    return judges and not is_less_better(name)


def is_less_better(name: str) -> bool:
    """Whether less is better for a score, by its name.

    >>> is_less_better("error_count"), is_less_better("metrics.rank"), is_less_better("cost_reward")
    (True, True, False)
    """
    words = words_of(name)
    return not words.isdisjoint(_LESS_IS_BETTER) and words.isdisjoint(_TURNED)
