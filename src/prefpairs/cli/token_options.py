"""The options that say how examples become tokens."""

from typing import TYPE_CHECKING

from prefpairs.errors import UsageError
from prefpairs.files.inputs import Input
from prefpairs.option import flag, option, options

if TYPE_CHECKING:
    from prefpairs.chat.token_ids import TokenOptions
    from prefpairs.files.tokenizer import Model

_TOKENS = "How examples become tokens"


@options
class TokenWords:
    """The words about tokens, as they were typed."""

    tokenizer: str | None = option(
        None,
        metavar="FILE|DIR",
        panel=_TOKENS,
        help="tokens: a tokenizer.json, or the folder of a model with its template and special "
        "tokens. Rollouts that brought their own tokens need none.",
    )
    max_tokens: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_TOKENS,
        help="tokens: leave pairs out whose prompt and answer are longer. No answer is cut.",
    )
    keep_end: bool = flag(panel=_TOKENS, help="tokens: cut the head of a prompt that is too long.")
    pad_to: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_TOKENS,
        help="tokens: columns padded to N tokens, with attention masks, too.",
    )

    hints: str | None = option(
        None, metavar="FILE", panel=_TOKENS, help="sdpo: a hint for each kind of error, as TOML."
    )

    def references(self) -> list[Input]:
        """The files that --tokenizer names."""
        model = self.model()
        files = () if model is None else (model.tokenizer, model.config, model.template)
        return [Input(path, path) for path in dict.fromkeys(files) if path is not None]

    def model(self) -> "Model | None":
        """The files that --tokenizer names."""
        if self.tokenizer is None:
            return None
        from prefpairs.files.tokenizer import model_at

        return model_at(self.tokenizer)

    def token_options(self, model: "Model | None", template: str | None) -> "TokenOptions | None":
        """What these words ask for, if anything, with the chat template of this file."""
        if self.keep_end and self.max_tokens is None and self.pad_to is None:
            raise UsageError("--keep-end needs to know a length", "--max-tokens N, or --pad-to N")
        if model is None and self.max_tokens is None and self.pad_to is None:
            return None
        from prefpairs.chat.token_ids import TokenOptions

        asked = TokenOptions(max_tokens=self.max_tokens, keep_end=self.keep_end, pad_to=self.pad_to)
        return asked if model is None else _with_model(asked, model, template)


def _with_model(asked: "TokenOptions", model: "Model", template: str | None) -> "TokenOptions":
    from dataclasses import replace

    from prefpairs.chat.rendered_chat import ChatRenderer
    from prefpairs.chat.template import compiled
    from prefpairs.files.template_file import read_template
    from prefpairs.files.tokenizer import Tokens, special_tokens

    if template is None:
        problem = "--tokenizer names no chat template"
        raise UsageError(problem, "--template FILE, or --tokenizer DIR with the files of a model")
    source = read_template(template)
    config = model.config or (template if template.endswith(".json") else None)
    specials = special_tokens(config) if config is not None else {}
    of_config = set() if config is not None else {"bos_token", "eos_token"}
    for name in sorted(compiled(source).free_names & of_config):
        problem = f"the template writes {name}, and nothing says what that is"
        raise UsageError(problem, "--tokenizer DIR, with the tokenizer_config.json of the model")
    tokens = Tokens(model.tokenizer, exact=True)
    pad = tokens.id_of(specials.get("pad_token", ""))
    chat = ChatRenderer(source, specials, tokens.marks())
    return replace(asked, encode=tokens.encode, chat=chat, pad_id=pad or 0)
