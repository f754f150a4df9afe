"""Ports for servers that have to know theirs before they start."""

import os
import random
import socket

# Below what the kernel hands out by itself: between our look and the start nobody is given it by chance.
FIRST, LAST = 20_000, 32_000
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))


def free_port() -> int:
    """A port of this machine that nobody listens at, and that no other worker of these tests is given."""
    while True:
        port = random.randrange(FIRST + WORKER, LAST, WORKERS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
