import pytest

from pitstop.runs.shell_commands import CommandLine, Entered, ToScreen, ToShell


def typed(*pieces: bytes, line: CommandLine | None = None) -> tuple[bytes, list[str]]:
    """What the shell got of what was typed, and the commands that were entered."""
    line = line or CommandLine()
    shell, commands = b"", []
    for piece in pieces:
        for each in line.type(piece):
            match each:
                case ToShell():
                    shell += each.data
                case Entered():
                    commands.append(each.command)
    return shell, commands


@pytest.mark.parametrize("command", ["@resume", "@abort", "@status", "@retry", "@skip", "@help"])
def test_a_command_is_entered_key_by_key_and_the_shell_gets_nothing_of_it(command: str) -> None:
    assert typed(*(bytes([byte]) for byte in command.encode()), b"\r") == (b"", [command])


@pytest.mark.parametrize(
    ("pieces", "shell"),
    [
        ([b"ls\r"], b"ls\r"),
        ([b"echo @retry\r"], b"echo @retry\r"),
        ([b"@", b"x", b"\r"], b"@x\r"),
        ([b"@retryy\r"], b"@retryy\r"),
        ([b"@retry ", b"now\r"], b"@retry now\r"),
        ([b"@retr\r"], b"@retr\r"),
        ([b" @retry\r"], b" @retry\r"),
        ([b"@ret\t"], b"@ret\t"),
        ([b"@ret\x03"], b"\x03"),
        ([b"@ret\x1b[A"], b"@ret\x1b[A"),
        (["ä@retry\r".encode()], "ä@retry\r".encode()),
    ],
)
def test_anything_else_reaches_the_shell_as_it_was_typed(pieces: list[bytes], shell: bytes) -> None:
    assert typed(*pieces) == (shell, [])


def test_a_mistyped_command_is_corrected() -> None:
    assert typed(b"@rest", b"\x7f", b"\x7f", b"try\r") == (b"@rest\x7f\x7ftry\r", [])
    assert typed(b"@res", b"\x7f", b"try\r") == (b"", ["@retry"])
    assert typed(b"@\x7fls\r") == (b"ls\r", [])


def test_commands_and_shell_lines_take_turns() -> None:
    assert typed(b"ls\r@status\rpwd\r", b"@help\r") == (b"ls\rpwd\r", ["@status", "@help"])


def test_after_a_line_was_given_up_a_new_one_begins() -> None:
    assert typed(b"half a line\x03", b"@status\r") == (b"half a line\x03", ["@status"])


def test_what_is_held_back_is_shown_and_taken_back_when_the_shell_shows_it_itself() -> None:
    line = CommandLine()
    shown = b"".join(each.data for each in line.type(b"@re") if isinstance(each, ToScreen))
    shown += b"".join(each.data for each in line.type(b"a") if isinstance(each, ToScreen))
    assert shown == b"@re" + b"\b \b" * 3


def test_a_paste_is_no_command() -> None:
    assert typed(b"\x1b[200~@abort\r\x1b[201~") == (b"\x1b[200~@abort\r\x1b[201~", [])
    assert typed(b"\x1b[200~one\r", b"@abort\r", b"\x1b[201~") == (b"\x1b[200~one\r@abort\r\x1b[201~", [])
    assert typed(b"@abort\r" * 100) == (b"@abort\r" * 100, [])


def test_a_program_that_has_the_whole_screen_gets_every_key() -> None:
    line = CommandLine()
    line.see(b"\x1b[?10")
    line.see(b"49h text")
    assert typed(b"\r", b"@abort\r", line=line) == (b"\r@abort\r", [])
    line.see(b"\x1b[?1049l$ ")
    assert typed(b"@abort\r", line=line) == (b"", ["@abort"])
