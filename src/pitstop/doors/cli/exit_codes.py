"""How the command tells other programs what came of it."""

PASSED = 0
FAILED = 1
BAD_USAGE = 2  # of the command, or a file that is no flow
DETACHED = 77  # stopped at a breakpoint, and there was no terminal to debug in
INTERRUPTED = 130
