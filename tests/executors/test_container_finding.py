"""Which container engine is taken, and what is said when there is none."""

import hashlib
import json
from functools import partial
from pathlib import Path

import pytest

from pitstop.engine.executor import Command, Placement
from pitstop.errors import NoEngine
from pitstop.executors.machine.containers.config import user_of
from pitstop.executors.machine.containers.engine import EngineInfo
from pitstop.executors.machine.containers.finding import candidates, find_engine
from pitstop.executors.machine.containers.launcher import ContainerLauncher
from pitstop.executors.machine.placing import PlacingExecutor
from pitstop.executors.machine.processes.executor import ProcessExecutor
from tests.containers import Docker


async def test_an_engine_that_is_named_is_found_with_its_version(docker: Docker) -> None:
    engine, info = await find_engine({"DOCKER_HOST": docker.host})

    assert (engine.path, info.name) == (str(docker.socket), "Docker")
    assert info.version == docker.says("version", "--format", "{{.Server.Version}}")


async def test_podmans_variable_names_an_engine_too(docker: Docker) -> None:
    engine, _ = await find_engine({"CONTAINER_HOST": docker.host})

    assert engine.path == str(docker.socket)


async def test_an_engine_that_does_not_answer_is_told_with_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(NoEngine) as caught:
        await find_engine({"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})

    told = str(caught.value)
    assert f"$DOCKER_HOST: cannot reach the container engine at {tmp_path}/none.sock: No such file" in told
    assert "install Docker" in told
    assert "Podman" in told


async def test_an_engine_on_another_machine_is_refused_because_the_files_are_here() -> None:
    with pytest.raises(NoEngine, match="so the engine has to be on this machine"):
        await find_engine({"DOCKER_HOST": "tcp://10.0.0.1:2375"})


async def test_an_engine_can_be_named_by_a_context_of_the_docker_command(tmp_path: Path) -> None:
    folder = tmp_path / ".docker/contexts/meta" / hashlib.sha256(b"desktop").hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"Endpoints": {"docker": {"Host": "unix:///there.sock"}}}))
    (tmp_path / ".docker/config.json").write_text('{"currentContext": "desktop"}')

    found = list(candidates({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}))

    assert found[0] == ("the Docker context", "/there.sock")


async def test_a_step_says_what_is_missing_when_there_is_no_engine(tmp_path: Path) -> None:
    environment = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    executor = PlacingExecutor(ProcessExecutor(tmp_path), partial(ContainerLauncher, partial(find_engine, environment)))
    workspace = await executor.acquire(Placement())
    command = await executor.start(workspace, Command(key="k", script="true", image="box"))
    said = b"".join([chunk.data async for chunk in executor.logs(command)]).decode()
    result = await executor.wait(command)
    await executor.close()

    assert (result.state, result.exit_code) == ("failed", 126)
    assert "no container engine answers on this machine" in result.reason
    assert "install Docker" in said


ROOTFUL = EngineInfo("Docker", "1", "amd64")
ROOTLESS = EngineInfo("Docker", "1", "amd64", is_rootless=True)
PODMAN = EngineInfo("Podman", "1", "amd64", is_rootless=True)


@pytest.mark.parametrize(
    ("named", "info", "user"),
    [
        (None, ROOTFUL, "owner"),
        (None, PODMAN, "owner"),
        (None, ROOTLESS, "0:0"),  # who is the owner outside
        ("image", ROOTFUL, ""),
        ("app", ROOTLESS, "app"),
    ],
)
def test_whom_a_container_runs_as(tmp_path: Path, named: str | None, info: EngineInfo, user: str) -> None:
    owner = tmp_path.stat()
    expected = f"{owner.st_uid}:{owner.st_gid}" if user == "owner" else user

    assert user_of(named, owner, info) == expected
