"""The process beside Pitstop that removes what is left of its containers when Pitstop ends, or dies.

    python guard.py SOCKET OWNER        its input is a pipe that Pitstop holds open

It is started as a plain file, with nothing of the package but this, so that it costs little.
"""

import json
import signal
import socket
import sys
import time
from urllib.parse import quote

ANSWER_SECONDS = 30.0
LOOK_SECONDS = 0.05


def remove_all(path: str, owner: str) -> None:
    """Remove the containers of the owner, then the networks that they were on."""
    filters = quote(json.dumps({"label": [f"pitstop.owner={owner}"]}))
    give_up_at = time.monotonic() + ANSWER_SECONDS
    while containers := json.loads(_ask(path, "GET", f"/containers/json?all=1&filters={filters}")):
        for found in containers:
            _ask(path, "DELETE", f"/containers/{found['Id']}?force=1&v=1")
        if time.monotonic() > give_up_at:
            break
        time.sleep(LOOK_SECONDS)  # the engine may still be at what Pitstop asked it last
    for found in json.loads(_ask(path, "GET", f"/networks?filters={filters}")):
        _ask(path, "DELETE", f"/networks/{found['Id']}")


def _ask(path: str, method: str, target: str) -> bytes:
    """The body of the answer. In HTTP 1.0 it comes in one piece, and ends with the connection."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_SECONDS)
        connection.connect(path)
        connection.sendall(f"{method} {target} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    return answer.partition(b"\r\n\r\n")[2]


def main() -> None:
    for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    sys.stdin.buffer.read()  # which ends when Pitstop does
    remove_all(*sys.argv[1:])


if __name__ == "__main__":
    main()
