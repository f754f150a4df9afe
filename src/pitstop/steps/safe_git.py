"""How git is run in a workspace: a repository there may be a stranger's, so nothing in its settings is to be run."""

SAFE = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgsign=false"),
    *("-c", "core.quotePath=false", "-c", "diff.external=", "-c", "core.pager=cat"),
)
SAFE_GIT = f"git {' '.join(SAFE)}"
GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",  # the home of the workspace is the agent's
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
}
