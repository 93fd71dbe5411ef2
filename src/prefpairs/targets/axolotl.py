"""Axolotl: chat_template.default. A conversation and two messages, of roles and texts only.

It finds an answer in the rendered conversation by searching for its text. So an answer must not
have whitespace at its ends, which templates trim, and must not occur before its own turn.
"""

from collections.abc import Iterator, Mapping

from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.errors import BadField
from prefpairs.model.message import Message, as_chat
from prefpairs.targets.base import CannotExport, Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.trl import PROVENANCE, provenance

_DUMMY = "[[dummy_message]]"
_HEADS = (
    f"""<|im_start|>system
You are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>
<|im_start|>user
{_DUMMY}<|im_end|>
<|im_start|>assistant
""",
    f"""<|begin_of_text|><|start_header_id|>system<|end_header_id|>

Cutting Knowledge Date: December 2023
Today Date: 26 Jul 2024

<|eot_id|><|start_header_id|>user<|end_header_id|>

{_DUMMY}<|eot_id|><|start_header_id|>assistant<|end_header_id|>

""",
    f"<bos><start_of_turn>user\n{_DUMMY}<end_of_turn>\n<start_of_turn>model\n",
    f"<s>[INST] {_DUMMY} [/INST]",
)
"""What the chat templates of common models write before an answer."""


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example."""
    row = {
        "messages": as_chat(example.prompt, "user"),
        "chosen": _answer(as_chat(example.chosen, "assistant")[0]),
        "rejected": _answer(as_chat(example.rejected, "assistant")[0]),
    }
    if row["chosen"] == row["rejected"]:
        raise CannotExport("sides_equal")
    return [{**row, **provenance(example)}]


def read(row: Row) -> Row:
    """The pair of a row."""
    answers = {side: _messages(row.get(side), side) for side in ("chosen", "rejected")}
    others = {key: value for key, value in row.items() if key not in ("messages", *answers)}
    return {"prompt": row.get("messages"), **answers, **others}


def _answer(message: Message) -> Message:
    text = message["content"].strip()
    if is_miscut(text):
        raise CannotExport("answer_miscut")
    return {"role": "assistant", "content": text}


def is_miscut(text: str) -> bool:
    """Whether the text of an answer occurs in what a template writes before it.

    >>> is_miscut("2"), is_miscut("42")
    (True, False)
    """
    return any(text in head for head in _HEADS)


def check(row: Row) -> Iterator[Finding]:
    """What Axolotl does with a row, in addition to the rules."""
    contents = []
    messages = row.get("messages")
    for place, message in enumerate(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("tool_calls"):
            yield Finding(Effect.WRONG, "tools_unseen", f"messages.{place}")
    for side in ("chosen", "rejected"):
        answer = row.get(side)
        message = answer[-1] if isinstance(answer, list) and answer else answer
        content = message.get("content") if isinstance(message, dict) else message
        contents.append(content)
        if content is None:
            yield Finding(Effect.CRASH, "content_null", side)
        elif isinstance(content, str) and content != content.strip():
            yield Finding(Effect.WRONG, "space_around_answer", side)
        elif isinstance(content, str) and content and is_miscut(content):
            yield Finding(Effect.WRONG, "miscut", side)
        if isinstance(message, dict) and message.get("tool_calls"):
            yield Finding(Effect.WRONG, "tools_unseen", side)
    if contents[0] is not None and contents[0] == contents[1]:
        yield Finding(Effect.NOTHING, "equal_sides")


def _messages(answer: object, side: str) -> object:
    """An answer as a list of messages; Axolotl uses the last message of a list."""
    if isinstance(answer, list) and not answer:
        raise BadField(side, answer, "a message")
    return [answer] if isinstance(answer, dict) else answer


def extras(dataset: Dataset) -> Mapping[str, str]:
    """A configuration to train with."""
    lines = [
        "# In this folder: axolotl train dpo.yaml",
        "# Change the model to yours.",
        "base_model: Qwen/Qwen3-0.6B",
        "rl: dpo",
        "chat_template: tokenizer_default",
        "datasets:",
        *_data(dataset.train),
    ]
    if "val" in dataset.files:
        lines += ["test_datasets:", *_data(dataset.files["val"])]
    lines += [
        "sequence_len: 4096",
        "adapter: lora",
        "lora_r: 16",
        "lora_alpha: 32",
        "lora_target_linear: true",
        "micro_batch_size: 1",
        "gradient_accumulation_steps: 8",
        "num_epochs: 1",
        "optimizer: adamw_torch",
        "learning_rate: 5.0e-6",
        "output_dir: dpo-output",
    ]
    return {"dpo.yaml": "".join(f"{line}\n" for line in lines)}


def _data(file: str) -> list[str]:
    return [
        f"  - path: {file}",
        "    ds_type: json",
        "    split: train",
        "    type: chat_template.default",
        "    field_messages: messages",
    ]


_ANSWER = frozenset({"object", "text", "list"})

TARGET = Target(
    name="axolotl",
    rows=rows,
    columns={
        "messages": None,
        "chosen": None,
        "rejected": None,
        **PROVENANCE,
    },
    extras=extras,
    extra_names=("dpo.yaml",),
    single=True,
    rules=Rules(
        needs={
            "messages": frozenset({"chat", "text"}),
            "chosen": _ANSWER,
            "rejected": _ANSWER,
        },
        read=read,
        check=check,
        on_role=Effect.CRASH,
        trains="last",
    ),
)
