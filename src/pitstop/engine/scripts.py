"""How a shell reads a script from a file: its text must not be an argument, because every user can read those."""

from collections.abc import Sequence

# `$0`, the other parameters, standard input and the numbers of lines are those of a script that is an argument.
READ_IN_BASH = '[ -r "$1" ] || exit 126; set -- "$(<"$1")"; eval "shift; $1"'  # one program less
READ_IN_SHELL = 'set -- "$(cat -- "$1" || echo exit 126)"; eval "shift; $1"'
READ_IN_PYTHON = 'exec(compile(open(__import__("sys").argv.pop(1), "rb").read(), "<string>", "exec"))'

SHELLS = frozenset(("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"))


def can_read_file(shell: Sequence[str]) -> bool:
    """Whether `argv_reading` knows the program."""
    name = _name_of(shell)
    return name in SHELLS or name.startswith("python")


def argv_reading(shell: Sequence[str], path: str) -> tuple[str, ...]:
    """The words that run the script in a file as `-c` would run its text."""
    if (name := _name_of(shell)) in SHELLS:
        return (*shell, "-c", READ_IN_BASH if name == "bash" else READ_IN_SHELL, shell[0], path)
    return (*shell, "-c", READ_IN_PYTHON, path)


def _name_of(shell: Sequence[str]) -> str:
    return shell[0].rpartition("/")[2]
