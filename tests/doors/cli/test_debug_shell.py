"""A shell on the person's terminal."""

import os
import sys
import termios

import pytest

from pitstop.doors.cli.debug.shell import join_terminals


class BriefShell:
    """A shell that ends as soon as it is looked at."""

    def __init__(self) -> None:
        self.sizes: list[tuple[int, int]] = []

    async def read(self) -> bytes:
        return b""

    async def write(self, data: bytes) -> None:
        raise AssertionError("nobody types")

    def resize(self, rows: int, cols: int) -> None:
        self.sizes.append((rows, cols))

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(("opened_with", "told"), [((24, 80), [(30, 99)]), ((30, 99), [])])
async def test_a_window_that_changes_while_the_shell_is_opened_is_told_to_it(
    opened_with: tuple[int, int], told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    outer, inner = os.openpty()
    shell = BriefShell()
    try:
        with os.fdopen(inner, "w") as terminal:
            monkeypatch.setattr(sys, "stdout", terminal)
            termios.tcsetwinsize(outer, (30, 99))
            await join_terminals(shell, inner, inner, opened_with)
    finally:
        os.close(outer)

    assert shell.sizes == told
