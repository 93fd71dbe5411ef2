"""The main job on the sample data, for `make demo`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).parent.parent
COMMANDS = (
    "pair --strategy same_prompt --min-gap 0.2 sample_data/gym_rollouts.jsonl",
    "pair --min-gap 0.2 sample_data/nat_workflow_output.json",
    "pair --strategy exhaustive sample_data/qa_grouped.jsonl",
)


def main() -> int:
    """Show and run each command, then show its first pair."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = Path(folder, "pairs.jsonl")
        for words in COMMANDS:
            print(f"\n$ prefpairs {words} > pairs.jsonl", flush=True)
            with pairs.open("wb") as file:
                program = [sys.executable, "-m", "prefpairs", *words.split()]
                code = subprocess.run(program, cwd=HOME, stdout=file, check=False).returncode
            if code:
                return code
            print("\n$ head -n 1 pairs.jsonl | python -m json.tool")
            print(json.dumps(json.loads(pairs.read_text("utf-8").splitlines()[0]), indent=2))
    print("\nThe program itself is .venv/bin/prefpairs; README.md goes on from here.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
