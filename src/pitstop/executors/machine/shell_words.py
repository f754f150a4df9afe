"""The command line of a shell."""

from collections.abc import Sequence

BASH_OR_SH = ("sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash; exec sh")


def announced(text: str, argv: Sequence[str]) -> tuple[str, ...]:
    """The shell with this command, after a line of text. Without a command it is bash, or sh."""
    return ("sh", "-c", 'printf "%s\\n" "$0"; exec "$@"', f"[pitstop] {text}", *(argv or BASH_OR_SH))
