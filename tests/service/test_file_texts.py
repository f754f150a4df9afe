"""The files that a flow is read from: regular, of a limited size, read by a server apart from its loop."""

import os
import threading
from pathlib import Path

import pytest

from pitstop.errors import BadFlow
from pitstop.limits import FLOW_BYTES
from pitstop.runs import flow_files
from pitstop.runs.file_texts import read_file
from pitstop.runs.flow_files import FlowFiles
from pitstop.runs.stored_flows import StoredFlows
from pitstop.service.caller import LOCAL
from tests.service.test_server import Server, server

__all__ = ["server"]

HIDDEN = (
    "the file has errors (1, the first on this line), which are not shown because it is outside the "
    "server's flow folders: run `pitstop check` on it, or send its text"
)


def make_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(FLOW_BYTES + 1)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (os.mkfifo, "it is a FIFO, not a regular file"),
        (Path.mkdir, "it is a folder, not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "it is a device, not a regular file"),
        (
            make_large,
            "the flow is too large, 4.0 MB (limit: 4 MB): split it into several flows, or move data to a file",
        ),
        (lambda path: None, "No such file or directory"),
    ],
    ids=["fifo", "folder", "device", "large", "missing"],
)
async def test_what_is_not_read(make: object, reason: str, tmp_path: Path) -> None:
    make(tmp_path / "flow.yaml")  # type: ignore[operator]

    with pytest.raises(BadFlow) as refused:
        await FlowFiles().plan(str(tmp_path / "flow.yaml"), {})

    assert refused.value.found[0].message == f"cannot read the file: {reason}"


def test_a_file_whose_size_is_not_known_is_read() -> None:
    assert read_file("/proc/self/status").startswith(b"Name:")


async def test_the_files_of_a_flow_have_a_size_together(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(f"# {'x' * (FLOW_BYTES // 2)}\n- run: x")
    (tmp_path / "flow.yaml").write_text("steps: [{include: a.yaml}, {include: b.yaml}]")

    with pytest.raises(BadFlow, match=r"1:38: cannot read the file .*: the flow is too large, 4.0 MB \(limit: 4 MB\)"):
        await FlowFiles().plan(str(tmp_path / "flow.yaml"), {})


async def test_a_server_reads_flows_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: Server
) -> None:
    called = tmp_path / "flow.yaml"
    called.write_text("steps: [{run: 'true'}]")
    readers: list[int] = []

    def read_and_remember(path: str) -> bytes:
        readers.append(threading.get_ident())
        return read_file(path)

    monkeypatch.setattr(flow_files, "read_file", read_and_remember)
    async with server.open() as service:
        await service.flows.check(LOCAL, str(called))
        await service.runs.start(LOCAL, server.request(f"steps: [{{call: {called}}}]"))

    assert len(readers) > 1
    assert threading.get_ident() not in readers


@pytest.mark.parametrize("text", ["steps: [{rnu: hunter2}]", "token-hunter2", "hunter2: {", "\x00hunter2"])
async def test_a_server_quotes_no_file_outside_of_its_flow_folders(text: str, tmp_path: Path, server: Server) -> None:
    outside, folder = tmp_path / "outside.yaml", tmp_path / "flows"
    folder.mkdir()
    outside.write_text(text)
    (folder / "stored.yaml").write_text("steps: [{rnu: hunter2}]")
    (folder / "link.yaml").symlink_to(outside)

    async def error_of(flow: str, sent: str | None = None) -> BadFlow:
        with pytest.raises(BadFlow) as refused:
            await service.flows.check(LOCAL, flow, sent)
        return refused.value

    async with server.open(flow_folders=[folder]) as service:
        named = await error_of(str(outside))
        assert [mistake.message for mistake in named.found] == [HIDDEN]
        for error in (
            named,
            await error_of(str(folder / "link.yaml")),
            await error_of("sent.yaml", f"steps: [{{include: {outside}}}, {{call: {outside}}}]"),
        ):
            assert "hunter2" not in str(error)
        assert "unknown step type `rnu`" in str(await error_of(str(folder / "stored.yaml")))
        assert "hunter2" in str(await error_of("sent.yaml", "steps: [{rnu: hunter2}]"))


def test_a_flow_folder_holds_what_is_below_it(tmp_path: Path) -> None:
    stored = StoredFlows([tmp_path / "flows"])
    assert stored.holds(str(tmp_path / "flows/a/b.yaml"))
    assert not stored.holds(str(tmp_path / "flows/../b.yaml"))
    assert not stored.holds(str(tmp_path / "flows-of-others/b.yaml"))
