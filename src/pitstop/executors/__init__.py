"""WHERE COMMANDS RUN: the Executor port, implemented."""
