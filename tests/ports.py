"""Ports for servers that have to know theirs before they start."""

import random
import socket

# Below what the kernel hands out by itself: between our look and the start nobody is given it by chance.
FIRST, LAST = 20_000, 32_000


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    while True:
        port = random.randint(FIRST, LAST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
