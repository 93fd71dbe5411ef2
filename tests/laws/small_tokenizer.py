"""A small tokenizer with a chat template, and texts that are difficult for both."""

from pathlib import Path

from hypothesis import strategies as st
from tokenizers import Tokenizer

from prefpairs.chat.model_spans import ChatRenderer
from prefpairs.chat.token_ids import Tokenization
from prefpairs.files.tokenizer import Tokens

MODEL = Path(__file__).parents[2] / "sample_data" / "traces" / "model"
TOKENIZER = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
CHAT = ChatRenderer((MODEL / "chat_template.jinja").read_text("utf-8"), {})
TOKENS = Tokenization(encode=Tokens(str(MODEL / "tokenizer.json"), exact=True).encode, chat=CHAT)
END = "<|im_end|>"

WORDS = ["a", " first line", "assistant", "user\n", "\n", " ", "tool_call", "{{ m }}", '"', "\\"]
SIGNS = [END, "<|im_start|>assistant\n", "\U0001f600", "\u00e9", "\u4e2d", "e\u0301", "\u200b"]
PIECES = st.sampled_from([*WORDS, *SIGNS])
TEXTS = st.lists(PIECES, min_size=1, max_size=4).map("".join)


def decoded(ids: list[int]) -> str:
    """The text of IDs, including special tokens."""
    text: str = TOKENIZER.decode(ids, skip_special_tokens=False)
    return text
