"""Reads a chat template from a file."""

import json
from pathlib import Path
from typing import Any

import pytest

from prefpairs.errors import BadInput, FileError
from prefpairs.files.option_files import read_template


def _read(folder: Path, content: bytes, name: str = "chat_template.jinja") -> str:
    path = folder / name
    path.write_bytes(content)
    return read_template(str(path))


@pytest.mark.parametrize(
    "source",
    [
        "",
        "{{ messages[0].content }}",
        "  {%- for message in messages %}{% endfor %}\n",
        "{# a remark #}{{ messages }}",
        "<|im_start|>é\u2028{{ messages }}\r\n",
        '{% set x = {"chat_template": 1} %}',
    ],
)
def test_jinja(tmp_path: Path, source: str) -> None:
    """The exact text of the file, whatever its name."""
    assert _read(tmp_path, source.encode()) == source
    assert _read(tmp_path, source.encode(), "tokenizer_config.json") == source


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ messages }}", "{{ messages }}"),
        ("", ""),
        ([{"name": "default", "template": "d"}], "d"),
        ([{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}], "t"),
        ([{"name": "rag", "template": "r"}, {"name": "default", "template": "d"}, "x"], "d"),
    ],
)
def test_config(tmp_path: Path, template: Any, expected: str) -> None:
    """The template in it; of several, the one for tools, else the default."""
    config = {"bos_token": "<s>", "chat_template": template}
    assert _read(tmp_path, json.dumps(config).encode()) == expected
    assert _read(tmp_path, b"\n " + json.dumps(config, indent=2).encode()) == expected


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"chat_template": None},
        {"chat_template": 7},
        {"chat_template": {"default": "d"}},
        {"chat_template": []},
        {"chat_template": [{"name": "rag", "template": "r"}]},
    ],
)
def test_config_without_a_template(tmp_path: Path, config: Any) -> None:
    """The error says where newer models have it."""
    with pytest.raises(BadInput) as caught:
        _read(tmp_path, json.dumps(config).encode(), "tokenizer_config.json")
    assert caught.value.path == str(tmp_path / "tokenizer_config.json")
    assert caught.value.problem == "it has no chat_template"
    assert caught.value.hint == "newer models have it in chat_template.jinja"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff\xfe{", "not a chat template: it is not UTF-8"),
        (b'{"chat_template": x}', "not a chat template: not JSON: "),
        (
            b'{"chat_template": "x',
            "not a chat template: the line ends in the middle of a JSON value",
        ),
        (b'{"a": "\xff"}', "not a chat template: invalid UTF-8 at byte 8"),
    ],
)
def test_another_file(tmp_path: Path, content: bytes, problem: str) -> None:
    """The error says what is wrong with the file."""
    with pytest.raises(BadInput) as caught:
        _read(tmp_path, content)
    assert caught.value.path == str(tmp_path / "chat_template.jinja")
    assert caught.value.problem.startswith(problem)


@pytest.mark.parametrize(
    ("name", "problem"), [("nothing.jinja", "No such file"), (".", "it is a folder")]
)
def test_no_file(tmp_path: Path, name: str, problem: str) -> None:
    """The error has the name as typed."""
    with pytest.raises(FileError) as caught:
        read_template(f"{tmp_path}/{name}")
    assert caught.value.path == f"{tmp_path}/{name}"
    assert problem.lower() in caught.value.problem.lower()


def test_names_of_any_kind(tmp_path: Path) -> None:
    """A name that is not text is ignored."""
    named = [{"name": ["default"], "template": "a"}, {"name": "default", "template": "b"}]
    assert _read(tmp_path, json.dumps({"chat_template": named}).encode()) == "b"
