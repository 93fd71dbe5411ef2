"""Every number in the code that could be a size is listed in sizes_in_code.py, once."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sizes_in_code import NO_SIZE, SEEN, SIZES

import prefpairs

SOURCE = Path(prefpairs.__file__).parent


def numbers_in(path: Path) -> Iterator[str]:
    """The module constants that are whole numbers, and the cached functions."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    module = ".".join(part for part in parts if part != "__init__")
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                for place, name in enumerate(names):
                    if isinstance(name, ast.Name) and _is_number(node.value, place):
                        yield f"{module}.{name.id}"
        elif isinstance(node, ast.FunctionDef) and any(map(_is_cache, node.decorator_list)):
            yield f"{module}.{node.name}"


def _is_number(value: ast.expr, place: int) -> bool:
    """Whether a value is a whole number, computed or literal."""
    if isinstance(value, ast.Tuple) and place < len(value.elts):
        value = value.elts[place]
    if isinstance(value, ast.BinOp):
        return _is_number(value.left, 0)
    return isinstance(value, ast.Constant) and type(value.value) is int


def _is_cache(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and "lru_cache" in ast.unparse(decorator.func)


def known_as_no_size(name: str) -> bool:
    """Whether a number, or its module or package, is listed as no size."""
    return any(name == known or name.startswith(f"{known}.") for known in NO_SIZE)


@pytest.mark.full
def test_every_number_is_known() -> None:
    """A new number needs a line: what crosses it, or why it is no size."""
    found = {name for path in SOURCE.rglob("*.py") for name in numbers_in(path)}
    unknown = {name for name in found - {*SIZES, *SEEN} if not known_as_no_size(name)}
    assert unknown == set()


def test_no_number_is_in_two_lists() -> None:
    """No number is in two lists."""
    assert SIZES.keys() & SEEN.keys() == set()


def value_of(name: str) -> Any:
    """The value of a listed number, or its cached function; None if it is not in the code."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(f"prefpairs.{module}"), attribute, None)


def test_every_size_is_there() -> None:
    """Every listed number exists in the code."""
    assert [name for name in (*SIZES, *SEEN) if value_of(name) is None] == []


def test_small_sizes_are_smaller() -> None:
    """Small sizes are smaller than the real ones, so that tests cross them."""
    crossed = {name: all(small < value_of(name) for small in SIZES[name].small) for name in SIZES}
    assert [name for name, smaller in crossed.items() if not smaller] == []
