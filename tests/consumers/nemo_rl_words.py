"""**A model** of how NeMo RL builds its configuration: Hydra's overrides, on our files.

    python nemo_rl_words.py CONFIG [OVERRIDE]...

CONFIG has the keys that a release of NeMo RL documents. Overrides are applied in OmegaConf's strict
mode, in which a missing key must be added with `+`. Prints the configuration as JSON.
"""

import importlib
import json
import sys


def main() -> None:
    """Apply the overrides of the command line."""
    settings = importlib.import_module("omegaconf").OmegaConf
    parsing = importlib.import_module("hydra.core.override_parser.overrides_parser")
    loading = importlib.import_module("hydra._internal.config_loader_impl")
    path, *words = sys.argv[1:]
    config = settings.load(path)
    settings.set_struct(config, True)
    parsed = parsing.OverridesParser.create().parse_overrides(overrides=words)
    loading.ConfigLoaderImpl._apply_overrides_to_config(overrides=parsed, cfg=config)  # noqa: SLF001
    sys.stdout.write(json.dumps({"config": settings.to_container(config, resolve=True)}))


if __name__ == "__main__":
    main()
