"""The lower bound for any Python that writes rows: parse each line, write it again."""

import sys

import orjson

with open(sys.argv[1], "rb") as file, open(sys.argv[2], "wb") as output:
    for line in file:
        output.write(orjson.dumps(orjson.loads(line)))
        output.write(b"\n")
