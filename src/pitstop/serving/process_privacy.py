"""Keeping the environment and the memory of a server from other processes of its user, such as steps."""

import ctypes

PR_SET_DUMPABLE = 4


def hide_process() -> None:
    """Let only root read this process in /proc, or trace it. A server that is root has nothing to hide behind."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
