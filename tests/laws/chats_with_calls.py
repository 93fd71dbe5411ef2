"""Messages with calls and results whose IDs may be known, unknown, duplicated or missing."""

from hypothesis import strategies as st
from run_in_process import Row

CALLS = [
    {"id": name, "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    for name in ("call_1", "call_2", "x")
]
TURNS: list[Row] = [
    {"role": "user", "content": "Q"},
    {"role": "system", "content": 'é \u2028 \x7f \x1f \x0b\t/\\"'},
    {"role": "assistant", "content": "A"},
    {"role": "assistant", "content": "A", "reasoning_content": "hm\n"},
    {"role": "assistant", "content": "", "tool_calls": [CALLS[0]]},
    {"role": "assistant", "content": "B", "tool_calls": CALLS[1:]},
    {"role": "tool", "content": "4", "tool_call_id": "call_1"},
    {"role": "tool", "content": "5", "tool_call_id": "x"},
    {"role": "tool", "content": "", "name": "f"},
    {"role": "tool", "content": "6"},
    {"role": "developer", "content": None},
    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
]


def turns(most: int) -> st.SearchStrategy[list[Row]]:
    """Messages of any kind, in any order."""
    return st.lists(st.sampled_from(TURNS), max_size=most)
