"""The words that a user types to call this program, for the commands that it prints."""

import sys

NAME = "pitstop"


def program(*, anywhere: bool = False) -> str:
    """`pitstop` if that is what a shell would find, else the way this process was started.

    With `anywhere` it works in every folder of this machine.
    """
    import shlex
    import shutil
    from pathlib import Path

    started = Path(sys.argv[0])
    if started.parts[-2:] == (NAME, "__main__.py"):
        return shlex.join([sys.executable if anywhere else sys.orig_argv[0], "-m", NAME])
    found = shutil.which(NAME)
    is_found = found is not None and started.exists() and Path(found).samefile(started)
    if is_found or started.name != NAME:
        return NAME
    return shlex.quote(str(started.absolute()) if anywhere else sys.argv[0])
