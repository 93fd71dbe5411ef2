"""The floor for anything in Python that looks at every row: parse each line, keep nothing."""

import sys

import orjson

with open(sys.argv[1], "rb") as file:
    for line in file:
        orjson.loads(line)
