"""A recorded shell is an asciicast: any player shows what was on the screen."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pitstop.app import open_service
from pitstop.engine.executor import WorkspaceRef
from pitstop.executors.machine.workspaces.files import LocalFiles
from pitstop.executors.masking import MaskedStream, Masker
from pitstop.runs import shell_recording
from pitstop.runs.shell_recording import TOO_MUCH, ShellRecording
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import verbs
from pitstop.service.runs import DebugRequest, RunRequest
from pitstop.settings import Settings
from tests.contracts.service_desk import next_stop
from tests.contracts.service_workspace import said_by, said_until_end


class Cast(NamedTuple):
    """A recording as a player reads it."""

    header: dict[str, Any]
    events: list[tuple[str, str]]

    def text(self, kind: str) -> str:
        return "".join(text for each, text in self.events if each == kind)

    @property
    def screens(self) -> list[tuple[tuple[int, int], str]]:
        """What was shown at each size of the terminal."""
        found = [((self.header["width"], self.header["height"]), "")]
        for kind, text in self.events:
            size, shown = found[-1]
            if kind == "r":
                cols, _, rows = text.partition("x")
                found.append(((int(cols), int(rows)), ""))
            elif kind == "o":
                found[-1] = (size, shown + text)
        return found


def read_cast(data: bytes) -> Cast:
    """Every line as https://docs.asciinema.org/manual/asciicast/v2/ has it."""
    first, *lines = data.decode().removesuffix("\n").split("\n")
    header = json.loads(first)
    assert header["version"] == 2
    assert all(type(header[name]) is int and header[name] > 0 for name in ("width", "height", "timestamp"))
    assert header["env"]["TERM"]
    events: list[tuple[str, str]] = []
    moment = 0.0
    for line in lines:
        at, kind, text = json.loads(line)
        assert at >= moment
        assert kind in ("o", "i", "r", "m")
        assert isinstance(text, str)
        assert text
        assert kind != "r" or re.fullmatch(r"\d+x\d+", text)
        moment = at
        events.append((kind, text))
    return Cast(header, events)


def recorded(file: Path, **options: Any) -> ShellRecording:
    files = LocalFiles(WorkspaceRef("w", "local", "", "", "", str(file.parent)), lambda: None)
    return ShellRecording(files, file.name, rows=24, cols=80, title="shell at a", **options)


async def test_characters_that_come_in_pieces_are_whole_in_the_recording(tmp_path: Path) -> None:
    shown = "grüße 世界 😀 \x1b[31mrot\x1b[0m\r\n"
    recording = recorded(tmp_path / "a.cast", keys=True)
    for byte in shown.encode():
        await recording.show(bytes([byte]))
        await recording.type(bytes([byte]))
    await recording.close()

    cast = read_cast((tmp_path / "a.cast").read_bytes())

    assert (cast.text("o"), cast.text("i")) == (shown, shown)
    assert all("\ufffd" not in text for _, text in cast.events)


async def test_a_terminal_that_changes_its_size_does_so_in_the_recording(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "a.cast")
    await recording.show(b"narrow")
    recording.resize(40, 120)
    await recording.show(b"wide \xe4\xb8")
    recording.resize(10, 20)
    await recording.show(b"\x96 small")
    await recording.close()

    cast = read_cast((tmp_path / "a.cast").read_bytes())

    assert cast.screens == [((80, 24), "narrow"), ((120, 40), "wide "), ((20, 10), "世 small")]


async def test_what_is_no_text_is_shown_as_a_terminal_does(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "a.cast")
    await recording.show(b"\x00\xff\n\x1b]0;title\x07\xe4\xb8")
    await recording.close()

    assert read_cast((tmp_path / "a.cast").read_bytes()).text("o") == "\x00\ufffd\n\x1b]0;title\x07\ufffd"


async def test_a_secret_that_comes_in_pieces_is_not_in_the_recording(tmp_path: Path) -> None:
    masker = Masker({"KEY": "sesame99"})
    recording = recorded(tmp_path / "a.cast", keys=True, new_stream=lambda: MaskedStream(masker))
    for piece in (b"it is ses", b"ame", b"99, gr\xc3", b"\xbcn"):
        await recording.show(piece)
        await recording.type(piece)
    await recording.close()

    data = (tmp_path / "a.cast").read_bytes()
    cast = read_cast(data)

    assert cast.text("o") == cast.text("i") == f"it is {masker.mask_text('sesame99')}, grün"
    assert b"ses" not in data


async def test_a_recording_that_grows_too_large_says_where_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_recording, "MOST_BYTES", 1000)
    recording = recorded(tmp_path / "a.cast")
    for _ in range(100):
        await recording.show(b"x" * 100)
    await recording.close()

    cast = read_cast((tmp_path / "a.cast").read_bytes())

    assert cast.events[-1] == ("m", TOO_MUCH)
    assert 500 < len(cast.text("o")) < 1500


async def test_a_recording_shows_what_the_person_at_the_shell_has_seen(tmp_path: Path) -> None:
    async with open_service(Settings(tmp_path)) as service:
        request = RunRequest(
            flow="f.yaml", text="steps: [{id: a, run: 'true'}]", debug=DebugRequest(stop_at_entry=True)
        )
        run = await service.runs.start(LOCAL, request)
        stop = await next_stop(service, run)
        shell = await service.workspaces.shell(LOCAL, run.id, stop.id, rows=30, cols=100, record="keys")
        await shell.write(
            rb"printf 'gr\303'; printf '\274n \344\270\226\360\237'; printf '\230\200'; echo . ''." + b"\r"
        )
        seen = await said_by(shell, "grün 世😀. .\r\n".encode())
        shell.resize(40, 120)
        await shell.write(b"stty size; exit\r")
        seen += await said_by(shell, b"40 120\r\n")
        seen += await said_until_end(shell)
        await shell.close()
        (artifact,) = await run.artifacts()
        data = b"".join([block async for block in run.artifact(artifact.path)])
        await service.debugging.say(LOCAL, run.id, verbs.Detach())
        await run.wait()

    cast = read_cast(data)

    assert cast.text("o") == seen.decode()
    assert [size for size, _ in cast.screens] == [(100, 30), (120, 40)]
    assert "grün 世😀. .\r\n" in cast.screens[0][1]
    assert "40 120\r\n" in cast.screens[1][1]
    assert cast.text("i").endswith("stty size; exit\r")
