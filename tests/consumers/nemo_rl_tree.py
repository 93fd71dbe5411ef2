"""NeMo RL's own run_dpo.py, run in a checkout up to setup(), where GPUs would be needed.

    cd CHECKOUT; python nemo_rl_tree.py examples/run_dpo.py [OVERRIDE]...

Prints one JSON object: the configuration passed to setup(), the number of rows in each split, and
which modules were replaced by stubs because they could not be imported. The configuration parser
is never replaced. With the dependencies of NeMo RL installed, the files are really loaded.
"""

import ast
import contextlib
import importlib
import json
import os
import runpy
import sys
import types
from collections.abc import Iterator
from typing import Any, NoReturn

REAL = ("omegaconf", "nemo_rl.utils.config")
"""The modules that build a configuration from files and overrides."""


class Anything:
    """A stub for any name of a module that cannot be imported."""

    def __call__(self, *_words: Any, **_options: Any) -> "Anything":
        """Return a stub for the result of a call."""
        return self

    def __getattr__(self, name: str) -> "Anything":
        """Return a stub for an attribute."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> "Anything":
        """Return a stub for an item."""
        return self

    def __len__(self) -> int:
        """Return a length above zero."""
        return 1


class Config(dict[str, Any]):
    """A configuration with its keys as attributes, instead of NeMo RL's model of it."""

    def __getattr__(self, name: str) -> Any:
        """Return a section as such a configuration."""
        value = self[name]
        if type(value) is dict:
            value = self[name] = Config(value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Change a key."""
        self[name] = value


def imports_of(script: str) -> Iterator[tuple[str, list[str]]]:
    """The modules that a script imports, each with the names imported from it."""
    with open(script, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)


def is_real(module: str, names: list[str]) -> bool:
    """Whether a module can be imported and has the names."""
    try:
        loaded = importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - whatever foreign code raises
        sys.stderr.write(f"{module}: {error!r}\n")
        return False
    return all(hasattr(loaded, name) for name in names)


def stand_in(module: str, names: list[str]) -> None:
    """Replace a module that cannot be imported, and its missing parent packages, by stubs."""
    parts = module.split(".")
    for end in range(1, len(parts)):
        package = ".".join(parts[:end])
        if not is_real(package, []):
            around = types.ModuleType(package)
            around.__path__ = [os.path.join(os.getcwd(), *parts[:end])]
            sys.modules[package] = around
    made = types.ModuleType(module)
    for name in names:
        setattr(made, name, Anything())
    sys.modules[module] = made


def rows_of(data: Any) -> int | None:
    """The number of rows of a split, if they were loaded."""
    if isinstance(data, dict):
        counts = [count for count in map(rows_of, data.values()) if count is not None]
        return sum(counts) if counts else None
    return None if data is None or isinstance(data, Anything) else len(data)


def main() -> None:
    """Run the script of the command line until it calls setup()."""
    script, *words = sys.argv[1:]
    sys.path.insert(0, os.getcwd())
    stood_in = []
    for module, names in imports_of(script):
        if not is_real(module, names):
            if module in REAL:
                raise SystemExit(f"{module} cannot be imported")
            stand_in(module, names)
            stood_in.append(module)

    def reached(config: Any, _tokenizer: Any, train: Any, val: Any = None) -> NoReturn:
        dumped = config if isinstance(config, dict) else config.model_dump()
        rows = {"train": rows_of(train), "val": rows_of(val)}
        answer = {"config": dumped, "rows": rows, "stood_in": stood_in}
        sys.__stdout__.write(json.dumps(answer, default=str))  # type: ignore[union-attr]
        raise SystemExit(0)

    dpo = sys.modules["nemo_rl.algorithms.dpo"]
    dpo.setup = reached  # type: ignore[attr-defined]
    if isinstance(dpo.MasterConfig, Anything):
        dpo.MasterConfig = Config  # type: ignore[attr-defined]
    sys.modules["nemo_rl.distributed.virtual_cluster"].init_ray = lambda: None  # type: ignore[attr-defined]
    sys.modules["nemo_rl.utils.logger"].get_next_experiment_dir = str  # type: ignore[attr-defined]
    sys.modules["nemo_rl.algorithms.utils"].get_tokenizer = Anything()  # type: ignore[attr-defined]
    if "nemo_rl.data.utils" in stood_in:
        both = Anything(), Anything()
        sys.modules["nemo_rl.data.utils"].setup_preference_data = lambda *_: both  # type: ignore[attr-defined]
    sys.argv = [script, *words]
    with contextlib.redirect_stdout(sys.stderr):
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
