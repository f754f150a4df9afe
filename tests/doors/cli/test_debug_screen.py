"""Where lines go: to the terminal, above a prompt, or nowhere while a shell has it."""

import asyncio
from collections.abc import Callable
from io import StringIO

from rich.console import Console
from rich.text import Text

from pitstop.doors.cli.debug.output import OutputLine
from pitstop.doors.cli.debug.screen import ERASE_LINE, MOST_OUTPUT, Screen


def screen_of(paper: StringIO) -> Screen:
    return Screen(Console(file=paper, highlight=False, markup=False, width=40))


def test_lines_are_written_whole_and_as_they_are() -> None:
    paper = StringIO()

    screen_of(paper).say("[bold] is no markup", Text("x" * 100, style="red"))

    assert paper.getvalue() == f"[bold] is no markup\n{'x' * 100}\n"


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


def test_a_flood_of_output_is_cut_and_says_so_and_nothing_else_is_lost() -> None:
    paper = StringIO()
    screen = Screen(Console(file=paper, force_terminal=True, no_color=True, width=40))

    screen.say("a stop", *(OutputLine("tests", "cyan", str(number)) for number in range(3 * MOST_OUTPUT)), "the end")

    first, *lines, last = Text.from_ansi(paper.getvalue()).plain.splitlines()
    assert first == f"… {2 * MOST_OUTPUT} lines omitted; `log STEP` shows the last ones"
    assert lines[:2] == ["a stop", f"tests │ {2 * MOST_OUTPUT}"]
    assert last == "the end"


def test_without_a_terminal_all_is_written() -> None:
    paper = StringIO()

    screen_of(paper).say(
        *(OutputLine("tests", "cyan", f"\x1b[31m{number}\x1b[0m") for number in range(3 * MOST_OUTPUT))
    )

    assert len(paper.getvalue().splitlines()) == 3 * MOST_OUTPUT
    assert paper.getvalue().startswith("tests │ 0\ntests │ 1\n")


async def test_a_passing_line_is_written_over_by_what_is_said_next() -> None:
    paper = StringIO()
    console = Console(file=paper, highlight=False, markup=False, width=20, force_terminal=True, color_system=None)
    screen = Screen(console)

    screen.say_passing("1 of 3")
    screen.say_passing("2 of 3, which is too long")
    screen.say("done")
    with screen.above_prompt():
        screen.say_passing("the prompt tells it")

    assert paper.getvalue() == f"1 of 3{ERASE_LINE}2 of 3, which is t…{ERASE_LINE}done\n"
