"""Who a server is: an id that tells, on its own machine, whether its process is still there."""

import os
import secrets
import socket
from pathlib import Path


def new_server_id() -> str:
    """`host/pid/start of the process/random`, which no other server ever has."""
    pid = os.getpid()
    return f"{socket.gethostname()}/{pid}/{_started(pid)}/{secrets.token_hex(4)}"


def is_dead(server: str) -> bool:
    """Whether it is known that the server's process is gone; one on another machine may be alive."""
    host, _, rest = server.partition("/")
    pid, _, more = rest.partition("/")
    if host != socket.gethostname() or not pid.isdigit():
        return False
    started = more.partition("/")[0]
    return _started(int(pid)) != started


def _started(pid: int) -> str:
    """When the process began, in the kernel's ticks, with the boot it belongs to; empty when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "" if not _is_there(pid) else "unknown"
    return f"{boot[:8]}-{stat.rpartition(')')[2].split()[19]}"


def _is_there(pid: int) -> bool:
    """Where there is no /proc."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
