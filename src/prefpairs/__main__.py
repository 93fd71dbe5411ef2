"""`python -m prefpairs` is `prefpairs`."""

import sys

from prefpairs.cli.main import main

sys.exit(main())
