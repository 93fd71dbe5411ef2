"""The options of `export`: how pairs become the examples of a trainer."""

from typing import TYPE_CHECKING

from prefpairs.option import flag, option, options
from prefpairs.targets import HOSTS

if TYPE_CHECKING:
    from prefpairs.chat.token_ids import Tokenization

FORM = "Export"
_TOKENS = "Tokens"
_TRACES = "Traces"


@options
class ExportOptions:
    """How pairs become examples.

    What is not given here is completed in plan/export_plan.py: it depends on the target, and on
    the chat template and the tokenizer of the model.
    """

    tokenizer: str | None = option(
        None,
        metavar="FILE|DIR",
        panel=_TOKENS,
        help="tokens: a tokenizer.json, or the directory of a model with its template and "
        "special tokens. Not needed for rollouts with their own tokens.",
    )
    max_tokens: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_TOKENS,
        help="tokens: leave out pairs whose prompt and answer are longer. Answers are never "
        "truncated.",
    )
    keep_end: bool = flag(
        panel=_TOKENS, help="tokens: truncate the start of a prompt that is too long."
    )
    pad_to: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_TOKENS,
        help="tokens: also write columns padded to N tokens, with attention masks.",
    )
    pad_prompt_to: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_TOKENS,
        help="tokens: with --pad-to, pad prompts on the left to N tokens, so that all answers "
        "begin there (as Trinity-RFT gathers them).",
    )
    single_turn: bool = flag(
        panel=_TOKENS,
        help="trinity-experience: write each answer as an experience of its own "
        "(split_dpo_experience_to_single_turn), with a mask of the model's tokens.",
    )
    custom_fields: bool = flag(
        panel=_TOKENS,
        help="trinity-experience: hand the scores to the trainer as custom fields. Pairs without "
        "scores are left out.",
    )
    truncate: bool = flag(
        panel=_TOKENS,
        help="tokens, sdpo, composer: cut off what is beyond --max-tokens, instead of leaving out "
        "the row. Rows without anything left to train on are still left out.",
    )
    labels: bool = flag(
        panel=_TOKENS,
        help="tokens, sdpo, composer: also write labels: the ids that are trained on, and -100 "
        "for all others (ignore_index).",
    )
    hints: str | None = option(
        None,
        metavar="FILE",
        panel=_TOKENS,
        help="sdpo, composer: a TOML file with a hint for each kind of error.",
    )
    turns: str = option(
        "auto",
        choices=("auto", "first", "all"),
        panel=FORM,
        help="How much of an answer to write: only the first turn that differs, or all turns. "
        "auto is what the trainer learns from.",
    )
    lossy: str = option(
        "flatten",
        choices=("flatten", "refuse", "drop"),
        panel=FORM,
        help="How to handle content that the target does not support, such as tool calls. "
        "flatten: write it as text; refuse: stop with an error; drop: leave out the pair.",
    )
    template: str | None = option(
        None,
        metavar="FILE",
        panel=FORM,
        help="The chat template of your model (chat_template.jinja, tokenizer_config.json). Sets "
        "--tool-args, --reasoning-as and --system to what it can render.",
    )
    reasoning_as: str | None = option(
        None,
        choices=("text", "field", "nothing"),
        panel=FORM,
        help="Write reasoning between <think> and </think> (the default), in reasoning_content "
        "(trl; many chat templates omit it), or not at all.",
    )
    tool_args: str | None = option(
        None,
        choices=("dict", "string"),
        panel=FORM,
        help="Write tool-call arguments as an object (most chat templates of open models) or as "
        "JSON text (OpenAI). Default: what the target documents.",
    )
    system: str | None = option(
        None,
        choices=("keep", "merge"),
        panel=FORM,
        help="merge: put system messages into the first user message, for models without system "
        "messages. Default: keep.",
    )
    text: bool = flag(
        panel=FORM,
        help="trl: write plain texts unchanged, because they already contain the chat template.",
    )
    last_message: bool = flag(
        panel=FORM,
        help="customizer: write only the last message of a prompt, as the NeMo Agent Toolkit does.",
    )
    reward: str | None = option(
        None,
        choices=("gap", "chosen-score"),
        panel=FORM,
        help="nat: the reward of a trajectory. Default: gap (reward_from_score_diff).",
    )
    release: str | None = option(
        None,
        metavar="VERSION",
        panel=FORM,
        help="nemo-rl: the release of the trainer. Default: the newest.",
    )
    host: str | None = option(
        None,
        choices=HOSTS,
        panel=FORM,
        help="openai: the hosting service. Default: azure. together and fireworks do not support "
        "tools.",
    )

    # What follows from the options, once they are completed.
    tool_args_known: bool = False
    """Whether the user or a chat template chose the form of tool-call arguments."""
    template_says: str = ""
    """What the chat template was found to support, as a sentence."""
    tokenization: "Tokenization | None" = None
    """How tokens are made, for targets whose rows contain tokens."""


@options
class TraceOptions:
    """How traces become rows, for targets that are made from traces."""

    score: str | None = option(
        None,
        metavar="PATH",
        panel=_TRACES,
        help="sdpo, composer: the field of a trace's reward (rlvr_reward_key). Default: "
        "final_reward.",
        show_default=False,
    )
    hint_generator: str | None = option(
        None,
        metavar="MODULE:FUNCTION",
        panel=_TRACES,
        help="sdpo, composer: a Python function of yours, instead of --hints. It gets the kind of "
        "an error and its error_meta, and returns a hint or None.",
    )
    batch_size: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_TRACES,
        help="composer: the number of traces in a batch. Default: 8.",
        show_default=False,
    )
    max_dpo_tokens: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_TRACES,
        help="composer: --max-tokens of the pairs in traces. Default: that of traces.",
        show_default=False,
    )
