"""The ids of runs: a new one, or the one that was reserved for a request that may come again."""

import os
import time
from contextvars import ContextVar

reserved_run: ContextVar[str | None] = ContextVar("reserved_run", default=None)


def new_run_id() -> str:
    """An id that tells when the run was made, and sorts by it."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(5).hex()}"
