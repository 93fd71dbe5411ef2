"""The start of `python scripts/fuzz`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from fuzz.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
