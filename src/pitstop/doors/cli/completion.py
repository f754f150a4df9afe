"""`pitstop completion`: words that a shell offers, asked of the command itself."""

import argparse
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path

from pitstop.doors.cli.app import Act, OpenService
from pitstop.doors.cli.choosing import ask
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.service.caller import LOCAL
from pitstop.service.runs import RunQuery

SCRIPTS = {
    "bash": """\
_pitstop() {
    local line="${COMP_LINE:0:COMP_POINT}" word IFS=$' \\t'
    local -a words
    read -ra words <<< "$line"
    [[ $line == *[[:blank:]] ]] && words+=("")
    word="${words[${#words[@]}-1]}"
    IFS=$'\\n'
    COMPREPLY=($(pitstop complete "${words[@]:1}" 2>/dev/null))
    # bash takes a colon for the end of a word, and keeps what is before it
    [[ $word == *:* ]] && COMPREPLY=("${COMPREPLY[@]#"${word%:*}:"}")
    [[ ${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
}
complete -F _pitstop pitstop
""",
    "zsh": """\
#compdef pitstop
_pitstop() {
    local -a words_offered
    words_offered=("${(@f)$(pitstop complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${words_offered[1]}" ]]; then compadd -- $words_offered; else _files; fi
}
compdef _pitstop pitstop
""",
    "fish": """\
function __pitstop_complete
    set -l words (commandline -opc) (commandline -ct)
    pitstop complete $words[2..-1] 2>/dev/null
end
complete -c pitstop -a '(__pitstop_complete)'
""",
}
STEP_OPTIONS = ("--from", "--only", "--break")
_POSITIONS = (":before", ":after", ":error")


def completion_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> None:
    parser = argparse.ArgumentParser(
        prog="pitstop completion",
        description='Print a completion script. For bash, put eval "$(pitstop completion bash)" in ~/.bashrc.',
    )
    parser.add_argument("shell", choices=SCRIPTS)
    print(SCRIPTS[parser.parse_args(words).shell], end="")


def complete(
    commands: Collection[str],
    load: Callable[[str], Act],
    words: Sequence[str],
    open_service: OpenService,
    interrupts: Interrupts,
) -> None:
    """Print what the last word may become, one per line; nothing where files are meant."""
    *before, begun = words or [""]
    offered: Iterable[str]
    if not before:
        offered = commands
    elif begun.startswith("-") and before[0] in commands and before[-1] not in STEP_OPTIONS:
        action = before[1:2] if before[0] == "cards" else []
        offered = _options(load(before[0]), action, open_service, interrupts)
    else:
        offered = _offered(before, begun, open_service)
    fitting = [each for each in offered if each.startswith(begun)]
    print("\n".join(fitting), end="\n" if fitting else "")


def _options(command: Act, action: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> list[str]:
    """The options that its help lists, or that of one of its actions."""
    help_text = StringIO()
    with redirect_stdout(help_text), suppress(SystemExit):
        command([*action, "--help"], open_service, interrupts)
    return re.findall(r"^  (?:-\w(?: [^,\s]+)?, )?(--[\w-]+)", help_text.getvalue(), re.MULTILINE)


def _offered(before: Sequence[str], begun: str, open_service: OpenService) -> Iterable[str]:
    command, last = before[0], before[-1]
    if last in STEP_OPTIONS and command in ("run", "debug"):
        return _steps(before[1:], last == "--break", open_service)
    if last == "--log-level":
        return ("error", "warning", "info", "debug")
    if command == "completion":
        return SCRIPTS
    if command == "cards" and len(before) == 1:
        from pitstop.doors.cli.cards.command import ACTIONS

        return ACTIONS
    if command == "secrets" and len(before) == 1:
        return ("set", "ls", "rm")
    if command in ("logs", "artifacts", "history", "pin", "rerun", "cancel") and len(before) == 1:
        return [each.id for each in ask(open_service(), lambda service: service.runs.list(LOCAL, RunQuery())).runs]
    if command == "steps":
        return [each.name for each in ask(open_service(), lambda service: service.flows.step_types(LOCAL))]
    if command in ("run", "debug", "check", "show") and len(before) == 1 and not begun:
        return map(str, sorted(Path(".pitstop/flows").glob("*.y*ml")))
    return ()


def _steps(words: Sequence[str], with_positions: bool, open_service: OpenService) -> list[str]:
    from pitstop.errors import PitstopError

    flow = next((word for word in words if re.search(r"\.ya?ml$", word)), None)
    if flow is None:
        return []
    try:
        steps = ask(open_service(), lambda service: service.flows.check(LOCAL, flow)).steps
    except PitstopError:
        return []
    names = [step.id or step.path for step in steps]
    return names + [name + position for name in names for position in _POSITIONS] if with_positions else names
