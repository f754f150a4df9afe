"""The ids of runs."""

import os
import time


def new_run_id() -> str:
    """An id that tells when the run was made, and sorts by it."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(5).hex()}"
