"""Files that options name: chat templates and tables of hints."""

from typing import Any

from prefpairs.errors import BadInput, FileError, NotJson
from prefpairs.files.file_stamps import read_small_input
from prefpairs.files.file_system import is_folder
from prefpairs.model.json_codec import decode


def read_template(path: str) -> str:
    """A chat template: a Jinja file, or the tokenizer_config.json that contains it.

    Of several templates, this is the one for tools, else the default one.
    """
    if is_folder(path):
        problem = "it is a folder; name the chat_template.jinja or tokenizer_config.json in it"
        raise FileError(path, problem)
    data = read_small_input(path).removeprefix(b"\xef\xbb\xbf")
    if not data.lstrip().startswith(b"{") or data.lstrip().startswith((b"{%", b"{{", b"{#")):
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise BadInput(path, "not a chat template: it is not UTF-8") from None
    try:
        config = decode(data)
    except NotJson as error:
        raise BadInput(path, f"not a chat template: {error.problem}") from None
    template = _chosen_template(config.get("chat_template"))
    if not isinstance(template, str):
        hint = "newer models have it in chat_template.jinja"
        raise BadInput(path, "it has no chat_template", hint)
    return template


def _chosen_template(template: Any) -> Any:
    if not isinstance(template, list):
        return template
    named = [(one.get("name"), one.get("template")) for one in template if isinstance(one, dict)]
    found = {name: source for name, source in named if name in ("tool_use", "default")}
    return found.get("tool_use") or found.get("default")


def read_hints(path: str) -> dict[str, str]:
    """A TOML file with a hint for each kind of error."""
    import tomllib

    data = read_small_input(path)
    try:
        hints = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(path, f"not TOML ({error})") from None
    for kind, hint in hints.items():
        if not isinstance(hint, str):
            raise BadInput(
                path, f"{kind} is no text", 'tool_not_found = "There is no {tool_name}."'
            )
    return hints
