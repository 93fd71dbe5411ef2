"""Run one command and say what it cost: `timer.py STDIN STDOUT PROGRAM [WORD]...`.

It is started fresh and bare for each run. A process begins as a copy of the one that starts it, so
the memory of a large one would count as the child's.
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
# What wait4 tells holds the descendants, too: their times added up, of their memory the largest.
_, status, usage = os.wait4(process, 0)
wall = time.perf_counter() - start
code = os.waitstatus_to_exitcode(status)
cpu = usage.ru_utime + usage.ru_stime
peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak, "code": code}))
