"""Pairs, and the rows that targets make of them."""

from typing import Any

from prefpairs.chat.model_spans import ChatRenderer
from prefpairs.chat.token_ids import Tokenization
from prefpairs.dataset.convert_pair import convert_pair
from prefpairs.dataset.row_rules import Row
from prefpairs.model.pair import Pair, pair_of
from prefpairs.targets import target_named
from prefpairs.targets.base import Dataset
from prefpairs.targets.export_options import ExportOptions

TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {}}}]
TOLD = (
    "You may call these tools:\n<tools>\n"
    '{"type":"function","function":{"name":"add","parameters":{}}}'
    "\n</tools>\nTo call one, write its name and arguments as JSON:\n"
    '<tool_call>\n{"name": ..., "arguments": ...}\n</tool_call>'
)
"""The tools as described in a system message."""
CALLED = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
"""A tool call as text."""


CHATML = (
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' }}"
    "{%- if m.reasoning_content %}{{- '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' }}"
    "{%- endif %}{{- m.content }}"
    "{%- for c in m.tool_calls or [] %}"
    "{{- '\\n<tool_call>' + c.function | tojson + '</tool_call>' }}"
    "{%- endfor %}{{- '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
"""A chat template with tool calls and thinking."""


def letters(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """A token for each character."""
    return [*map(ord, text)], [(place, place + 1) for place in range(len(text))]


TOKENS = Tokenization(encode=letters, chat=ChatRenderer(CHATML, {}))
"""The simplest tokenization."""


def user(content: Any) -> Row:
    """A user message."""
    return {"role": "user", "content": content}


def model(content: Any, **more: Any) -> Row:
    """An assistant message."""
    return {"role": "assistant", "content": content, **more}


def told(content: str, call: str = "call_1") -> Row:
    """A tool result."""
    return {"role": "tool", "content": content, "tool_call_id": call}


def system(content: str) -> Row:
    """A system message."""
    return {"role": "system", "content": content}


def call(arguments: Any = '{"a": 1}', number: int = 1) -> Row:
    """A tool call."""
    function = {"name": "add", "arguments": arguments}
    return {"id": f"call_{number}", "type": "function", "function": function}


def calling(arguments: Any = '{"a": 1}', content: str = "", **more: Any) -> Row:
    """An assistant message with a tool call."""
    return model(content, **more, tool_calls=[call(arguments)])


def pair(prompt: Any, chosen: Any, rejected: Any, **more: Any) -> Pair:
    """A pair with two scores."""
    row = {"prompt": prompt, "chosen": chosen, "rejected": rejected}
    return pair_of({"chosen_score": 1.0, "rejected_score": 0.25, **row, **more})[0]


def rows_of(name: str, given: Pair, **words: Any) -> list[Row]:
    """The rows of a pair with `export`'s defaults."""
    target = target_named(name)
    release = target.releases[-1] if target.releases else ""
    asked = {"tool_args": target.tool_args, "release": release, "tokenization": TOKENS, **words}
    options = ExportOptions(**asked)
    example, _ = convert_pair(given, target, options)
    return target.rows(example, options)


def extras_of(
    name: str, *sides: str, release: str = "", shape: frozenset[str] = frozenset()
) -> Any:
    """The files next to a dataset with these splits."""
    target = target_named(name)
    release = release or (target.releases[-1] if target.releases else "")
    files = {side: target.files[side] for side in sides}
    options = ExportOptions(release=release)
    tally = None if target.tally is None else target.tally()
    return target.extras(Dataset(files, dict.fromkeys(sides, 2), shape, options, tally))


PLAIN = pair("Q", "Aye", "Nay")
DEEP = pair(
    [system("S"), user("Q"), calling(), told("1")],
    [model("Aye", reasoning_content="hm")],
    [model("Nay")],
    tools=TOOLS,
)
"""A pair with everything that some targets cannot represent."""
