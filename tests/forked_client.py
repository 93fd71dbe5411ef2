"""Asks the server of forked_prefpairs.py for a run. As a script, it acts as `prefpairs` in shells.

It imports little, so `python -IS forked_client.py SOCKET ARGUMENTS` takes 15 ms.
"""

import os
import socket
import struct
import sys
from collections.abc import Iterable, Mapping

NUMBER = struct.Struct("=q")
_LENGTHS = struct.Struct("=qqq")


def ask(
    address: str,
    words: Iterable[str],
    descriptors: Iterable[int],
    variables: Mapping[str, str],
    folder: str,
) -> socket.socket:
    """Start a run with these streams. The socket then yields its process ID and exit code."""
    server = socket.socket(socket.AF_UNIX)
    server.connect(address)
    parts = [
        [os.fsencode(word) for word in words],
        [os.fsencode(f"{name}={value}") for name, value in variables.items()],
        [os.fsencode(folder)],
    ]
    content = b"".join(part + b"\0" for some in parts for part in some)
    header = _LENGTHS.pack(len(content), len(parts[0]), len(parts[1]))
    socket.send_fds(server, [header], [*descriptors])
    server.sendall(content)
    return server


def asked(client: socket.socket) -> tuple[list[int], list[str], dict[str, str], str]:
    """The contents of a request: descriptors, arguments, variables and the working directory."""
    header, descriptors, _, _ = socket.recv_fds(client, _LENGTHS.size, 3)
    length, words, variables = _LENGTHS.unpack(header)
    given = [os.fsdecode(part) for part in receive(client, length).split(b"\0")]
    pairs = (part.partition("=") for part in given[words : words + variables])
    return descriptors, given[:words], {name: value for name, _, value in pairs}, given[-2]


def receive(sender: socket.socket, count: int) -> bytes:
    """Receive exactly this many bytes."""
    parts = []
    while count and (part := sender.recv(count)):
        parts.append(part)
        count -= len(part)
    if count:
        raise EOFError
    return b"".join(parts)


def receive_number(sender: socket.socket) -> int:
    """Receive a process ID, or an exit code, which is negative if a signal ended the process."""
    (number,) = NUMBER.unpack(receive(sender, NUMBER.size))
    return int(number)


if __name__ == "__main__":
    run = ask(sys.argv[1], sys.argv[2:], (0, 1, 2), os.environ, os.getcwd())
    receive_number(run)
    code = receive_number(run)
    os._exit(code if code >= 0 else 128 - code)
