"""Ports in a container that lead to Unix sockets of the workspace: a program inside connects them."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from pitstop.executors.machine.processes.confined import FORWARD

_FORWARD_BY_NODE = Path(__file__).with_name("forward.js")

# The output of what is in $(...) ends when the forwarder has closed it, so the command starts when the ports are open.
# Node cannot close its standard output, so it has another.
_SCRIPT = """
forward() {{
    if command -v python3 >/dev/null; then exec python3 -I -S -c {python} "$@"; fi
    if command -v node >/dev/null; then exec node -e {node} -- "$@" 3>&1 >/dev/null; fi
    echo "pitstop: ports cannot be forwarded in this image: add python3 or node to it" >&2
}}
ready=$(forward {words} &)
[ "$ready" = ready ] || exit 126
exec "$@"
"""


def with_forwards(argv: tuple[str, ...], forwards: Mapping[int, str], folder: str) -> tuple[str, ...]:
    """The command, begun by a shell of its image that first opens these ports; the sockets are in the folder."""
    script = _SCRIPT.format(
        python=shlex.quote(FORWARD.read_text(encoding="utf-8")),
        node=shlex.quote(_FORWARD_BY_NODE.read_text(encoding="utf-8")),
        words=shlex.join((folder, *(f"{port}={name}" for port, name in forwards.items()))),
    )
    return ("sh", "-c", script, "pitstop", *argv)
