"""**A model** of how NeMo RL builds its configuration: our file on its own, and overrides.

    cd CHECKOUT; python nemo_rl_words.py --config CONFIG [OVERRIDE]...

`defaults` of CONFIG names the file that it extends, which has the keys that a release of NeMo RL
documents. Overrides are applied in OmegaConf's strict mode, in which a missing key must be
added with `+`. Prints the configuration as JSON.
"""

import importlib
import json
import sys


def main() -> None:
    """Load the configuration, and apply the overrides of the command line."""
    settings = importlib.import_module("omegaconf").OmegaConf
    parsing = importlib.import_module("hydra.core.override_parser.overrides_parser")
    loading = importlib.import_module("hydra._internal.config_loader_impl")
    word, path, *words = sys.argv[1:]
    if word != "--config":
        raise SystemExit(f"{word}: expected --config")
    ours = settings.load(path)
    config = settings.merge(settings.load(ours.pop("defaults")), ours)
    settings.set_struct(config, True)
    parsed = parsing.OverridesParser.create().parse_overrides(overrides=words)
    loading.ConfigLoaderImpl._apply_overrides_to_config(overrides=parsed, cfg=config)  # noqa: SLF001
    sys.stdout.write(json.dumps({"config": settings.to_container(config, resolve=True)}))


if __name__ == "__main__":
    main()
