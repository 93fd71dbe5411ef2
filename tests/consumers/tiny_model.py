"""A byte-level tokenizer with a chat template and a tiny random model, both made in code."""

import importlib
from typing import Any

TEMPLATE = """\
{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
{{- '# Tools\\n' }}
{%- for tool in tools %}{{- (tool | tojson) + '\\n' }}{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if not (tools and loop.first and message.role == 'system') %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.reasoning_content %}
{{- '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}
{%- endif %}
{%- if message.content is string %}{{- message.content }}
{%- elif message.content %}{{- raise_exception('content is neither text nor null') }}
{%- endif %}
{%- if message.tool_calls %}
{%- for call in message.tool_calls %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{%- if call.function.arguments is string %}{{- call.function.arguments }}
{%- else %}{{- call.function.arguments | tojson }}
{%- endif %}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""


def make_tokenizer() -> Any:
    """A tokenizer with one token per byte and the three special tokens of ChatML."""
    tokenizers = importlib.import_module("tokenizers")
    transformers = importlib.import_module("transformers")
    level = tokenizers.pre_tokenizers.ByteLevel
    vocabulary = {letter: at for at, letter in enumerate(sorted(level.alphabet()))}
    inner = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    inner.pre_tokenizer = level(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token="<|im_end|>",  # noqa: S106  # no secret
        pad_token="<|endoftext|>",  # noqa: S106
        additional_special_tokens=["<|im_start|>"],
        clean_up_tokenization_spaces=False,
        model_max_length=1_000_000,
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def make_model(tokenizer: Any, *, scores: bool = False) -> Any:
    """A random two-layer Qwen2, with a head for the next token or for one score."""
    transformers = importlib.import_module("transformers")
    transformers.set_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32768,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        num_labels=1,
    )
    if scores:
        return transformers.Qwen2ForSequenceClassification(config)
    return transformers.Qwen2ForCausalLM(config)
