"""Run one command and report its cost: `timer.py STDIN STDOUT PROGRAM [WORD]...`.

It is started as a fresh, bare process for each run. A process begins as a copy of its parent, so
the memory of a large parent would count as the child's.
"""

import json
import os
import sys
import time

stdin, stdout, *command = sys.argv[1:]
actions = (
    (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
    (os.POSIX_SPAWN_OPEN, 1, stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
)
start = time.perf_counter()
process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
# wait4 includes descendants: their times are added up, and of their memory the maximum is taken.
_, status, usage = os.wait4(process, 0)
wall = time.perf_counter() - start
code = os.waitstatus_to_exitcode(status)
cpu = usage.ru_utime + usage.ru_stime
peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak, "code": code}))
