"""How the command tells other programs what came of it."""

PASSED = 0
FAILED = 1
BAD_USAGE = 2  # of the command, or a file that is no flow
DETACHED = 77  # the run is paused, and was left so: `pitstop debug RUN` resumes it
INTERRUPTED = 130
