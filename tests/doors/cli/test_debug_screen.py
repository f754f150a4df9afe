"""Where lines go: to the terminal, above a prompt, or nowhere while a shell has it."""

import asyncio
from collections.abc import Callable
from io import StringIO

from rich.console import Console
from rich.text import Text

from pitstop.doors.cli.debug.screen import MOST_PENDING, Screen


def screen_of(paper: StringIO, secret: str = "") -> Screen:
    def mask(text: str) -> str:
        return text.replace(secret, "***") if secret else text

    return Screen(mask, Console(file=paper, highlight=False, markup=False, width=40))


def test_lines_are_written_whole_and_as_they_are() -> None:
    paper = StringIO()

    screen_of(paper).say("[bold] is no markup", Text("x" * 100, style="red"))

    assert paper.getvalue() == f"[bold] is no markup\n{'x' * 100}\n"


def test_a_secret_is_taken_out_of_styled_text_too() -> None:
    paper = StringIO()

    screen_of(paper, "hunter2").say(Text.assemble(("token ", "cyan"), ("hunter2", "red")))

    assert paper.getvalue() == "token ***\n"


def test_what_is_said_while_a_shell_has_the_terminal_comes_after_it() -> None:
    paper = StringIO()
    screen = screen_of(paper)

    with screen.held():
        screen.say("from another frame")
        assert paper.getvalue() == ""

    assert paper.getvalue() == "from another frame\n"


async def test_above_a_prompt_lines_are_shown_together_with_the_prompt_out_of_the_way() -> None:
    paper, turns, shown = StringIO(), [], asyncio.Event()
    screen = screen_of(paper)

    async def above(write: Callable[[], None]) -> None:
        write()
        turns.append(paper.getvalue())
        shown.set()

    async with asyncio.TaskGroup() as group:
        with screen.above_prompt():
            group.create_task(screen.show_pending(above))
            screen.say("one")
            screen.say("two")
            await shown.wait()
            screen.say("three")

    assert turns == ["one\ntwo\n"]
    assert paper.getvalue() == "one\ntwo\nthree\n"


def test_a_flood_is_cut_and_says_so() -> None:
    paper = StringIO()
    screen = screen_of(paper)

    with screen.held():
        for number in range(MOST_PENDING + 5):
            screen.say(str(number))

    lines = paper.getvalue().splitlines()
    assert lines[:2] == ["… 5 lines left out; `log STEP` has the last ones", "5"]
    assert len(lines) == MOST_PENDING + 1
