"""A chat template out of a file: Jinja, or the tokenizer_config.json that holds it."""

from typing import Any

from prefpairs.errors import BadInput, FileError, NotJson
from prefpairs.files.file_system import is_folder
from prefpairs.files.input_stamps import read_noted
from prefpairs.model.json_codec import decode


def read_template(path: str) -> str:
    """The source of the chat template; of several, the one for tools, else the default."""
    if is_folder(path):
        problem = "it is a folder; name the chat_template.jinja or tokenizer_config.json in it"
        raise FileError(path, problem)
    data = read_noted(path).removeprefix(b"\xef\xbb\xbf")
    if not data.lstrip().startswith(b"{") or data.lstrip().startswith((b"{%", b"{{", b"{#")):
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise BadInput(path, "no chat template: it is not UTF-8") from None
    try:
        config = decode(data)
    except NotJson as error:
        raise BadInput(path, f"no chat template: {error.problem}") from None
    template = _named(config.get("chat_template"))
    if not isinstance(template, str):
        hint = "newer models have it in chat_template.jinja"
        raise BadInput(path, "it holds no chat_template", hint)
    return template


def _named(template: Any) -> Any:
    if not isinstance(template, list):
        return template
    named = [(one.get("name"), one.get("template")) for one in template if isinstance(one, dict)]
    found = {name: source for name, source in named if name in ("tool_use", "default")}
    return found.get("tool_use") or found.get("default")
