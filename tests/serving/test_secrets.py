"""`pitstop secrets` against a server: set, ls and rm, with the value from the input."""

import os
import pty
import subprocess
from pathlib import Path

from tests.patience import PATIENCE_SECONDS
from tests.serving.test_commands import PITSTOP, House, pitstop


def secrets(house: House, *words: str, value: str | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*PITSTOP, "secrets", *words],
        env=house.environment,
        input=value,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_secrets_are_set_listed_and_removed(tmp_path: Path) -> None:
    with House(tmp_path, "--no-browser").open() as house:
        assert secrets(house, "set", "KEY", "--repos", "web,shop", value="hidden-1\n").returncode == 0
        assert secrets(house, "set", "KEY", "--scope", "flow::ci", value="hidden-2").returncode == 0
        assert secrets(house, "set", "OTHER", "--server", house.url, value="hidden-3\n\n").returncode == 0
        listed = secrets(house, "ls").stdout
        removed = secrets(house, "rm", "KEY")
        again = secrets(house, "rm", "KEY")
        left = secrets(house, "ls").stdout

    assert [line.split("  ")[:2] for line in listed.splitlines()] == [
        ["KEY", "flow::ci"],
        ["KEY", "server"],
        ["OTHER", "server"],
    ]
    assert "for web, shop" in listed
    assert "hidden" not in listed
    assert (removed.returncode, again.returncode) == (0, 1)
    assert "there is no secret" in again.stderr
    assert len(left.splitlines()) == 2


def test_one_line_break_at_the_end_of_a_value_is_removed(tmp_path: Path) -> None:
    flow = """
        secrets: [ONE, TWO]
        steps: [{id: look, run: 'test "${#ONE} ${#TWO}" = "5 7"'}]
    """
    with House(tmp_path, "--no-browser").open() as house:
        secrets(house, "set", "ONE", value="a\nbcd\n")
        secrets(house, "set", "TWO", value="ab\ncd\n\n\n")
        info = house.run_to_end({"flow": {"text": flow, "name": "look.yaml"}})
    assert info["status"] == "passed", info


def test_a_terminal_does_not_show_the_value(tmp_path: Path) -> None:
    with House(tmp_path, "--no-browser").open() as house:
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [*PITSTOP, "secrets", "set", "KEY"],
            env=house.environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        ) as asking:
            os.close(theirs)
            shown = b""
            while b"Value of KEY: " not in shown:
                shown += os.read(ours, 1000)
            os.write(ours, b"hidden-value\n")
            assert asking.wait(PATIENCE_SECONDS) == 0
        os.close(ours)
        assert [each["name"] for each in house.ask("GET", "/secrets").json()] == ["KEY"]
    assert b"hidden" not in shown


def test_what_cannot_be_stored_is_told_before_the_value_is_read(tmp_path: Path) -> None:
    with House(tmp_path, "--no-browser").open() as house:
        bad_name = secrets(house, "set", "A-KEY", value="x")
        bad_scope = secrets(house, "set", "KEY", "--scope", "nowhere", value="x")
        no_name = secrets(house, "set", value="x")
        assert house.ask("GET", "/secrets").json() == []
    assert "invalid secret name 'A-KEY'" in bad_name.stderr
    assert "invalid scope 'nowhere'" in bad_scope.stderr
    assert (bad_name.returncode, bad_scope.returncode, no_name.returncode) == (1, 1, 2)


def test_without_a_server_it_says_which_to_start_or_name(tmp_path: Path) -> None:
    ended = pitstop(tmp_path, "secrets", "ls")
    assert ended.returncode == 1
    assert "pitstop up`, or pass --server" in ended.stderr
