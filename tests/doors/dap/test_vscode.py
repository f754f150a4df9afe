"""The extension for VS Code: its manifest says what the adapter takes, it builds offline, and its parts work."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pitstop.doors.dap.protocol.arguments import AttachArguments, LaunchArguments
from tests.doors.dap.adapter_client import AdapterClient

EXTENSION = Path(__file__).parents[3] / "editors/vscode"


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text())
    return loaded


@contextmanager
def alone() -> Iterator[None]:
    """Nobody else works in the folder of the extension: tests run beside each other."""
    with (EXTENSION / "package.json").open() as manifest:
        fcntl.flock(manifest, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def vsix(manifest: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, as `make vsix` makes it; the tools of the lock file are installed if they are not there."""
    npm = shutil.which("npm")
    assert npm is not None, "these tests need Node.js 20 or newer"
    made = EXTENSION.parents[1] / f"dist/pitstop-vscode-{manifest['version']}.vsix"
    with alone():
        if not (EXTENSION / "node_modules/.package-lock.json").exists():
            subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=EXTENSION, check=True, capture_output=True)
        subprocess.run([npm, "run", "-s", "package"], cwd=EXTENSION, check=True, capture_output=True)
        return Path(shutil.copy(made, tmp_path_factory.mktemp("vsix")))


@pytest.mark.parametrize(("request_name", "arguments"), [("launch", LaunchArguments), ("attach", AttachArguments)])
def test_the_manifest_has_every_argument_of_the_adapter(
    manifest: dict[str, Any], request_name: str, arguments: type[msgspec.Struct]
) -> None:
    (debugger,) = manifest["contributes"]["debuggers"]
    told = debugger["configurationAttributes"][request_name]

    taken = {field.encode_name for field in msgspec.structs.fields(arguments)} - {"noDebug"}  # VS Code adds that itself
    assert set(told["properties"]) == taken
    assert all(each["description"].endswith(".") for each in told["properties"].values())
    assert set(told["required"]) <= taken


def test_the_guide_tells_of_every_attribute() -> None:
    guide = (EXTENSION.parents[1] / "docs/guides/editors.md").read_text()
    taken = {field.encode_name for each in (LaunchArguments, AttachArguments) for field in msgspec.structs.fields(each)}

    assert [name for name in sorted(taken - {"noDebug", "tellSteps"}) if f"`{name}`" not in guide] == []


def test_the_manifest_is_whole(manifest: dict[str, Any]) -> None:
    contributed = manifest["contributes"]
    (debugger,) = contributed["debuggers"]
    known = {name for each in debugger["configurationAttributes"].values() for name in each["properties"]}

    assert {each["language"] for each in contributed["breakpoints"]} == {"yaml", "python"}
    commands = {each["command"] for each in contributed["commands"]}
    assert {each["command"] for menu in contributed["menus"].values() for each in menu} == commands
    for config in [*debugger["initialConfigurations"], *(each["body"] for each in debugger["configurationSnippets"])]:
        assert config["type"] == debugger["type"] == "pitstop"
        assert set(config) - {"type", "request", "name"} <= known
    for name in contributed["configuration"]["properties"]:
        assert name.startswith("pitstop.")


@pytest.mark.timeout(600)
def test_the_package_has_what_vs_code_looks_for(vsix: Path, manifest: dict[str, Any]) -> None:
    with zipfile.ZipFile(vsix) as package:
        assert package.testzip() is None
        shipped = json.loads(package.read("extension/package.json"))
        names = package.namelist()
        about = package.read("extension.vsixmanifest").decode()

    assert {"[Content_Types].xml", "extension/README.md", "extension/LICENSE.txt"} <= set(names)
    assert f"extension/{shipped['main'].removeprefix('./')}" in names
    assert f'Id="{manifest["name"]}" Version="{manifest["version"]}"' in about
    assert "devDependencies" not in shipped


@pytest.mark.timeout(600)
def test_the_parts_of_the_extension_work_with_the_real_adapter(vsix: Path) -> None:
    npm = shutil.which("npm")
    assert npm is not None
    env = {**os.environ, "PITSTOP_PYTHON": sys.executable}
    with alone():
        done = subprocess.run([npm, "test"], cwd=EXTENSION, env=env, capture_output=True, text=True, timeout=500)

    assert done.returncode == 0, done.stdout


async def test_the_end_of_each_step_is_told_to_who_asks_for_it(adapter: AdapterClient, folder: Path) -> None:
    await adapter.launch("broken.yaml", tellSteps=True)
    await adapter.ended()

    first, second = adapter.events_named("pitstop/step")
    assert (first["path"], first["status"], first["line"]) == ("start", "passed", 4)
    assert first["file"] == str(folder / "broken.yaml") and first["seconds"] >= 0
    assert second["status"] == "failed" and second["error"].startswith("exit code 1")
