"""`run` with an image, with a real daemon."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pydantic import ValidationError

from pitstop.engine.container import ContainerOptions, Health, Service
from pitstop.engine.executor import Placement
from pitstop.events.log import MemoryLog
from pitstop.executors.far import FarExecutor
from pitstop.plan.plan import Step
from pitstop.steps.containers import container_of, parse_memory
from tests.containers import BOX, TALKATIVE, Docker
from tests.executors.container_bench import new_executor
from tests.steps.bench import OUR_TYPES, Bench, open_bench


@contextlib.asynccontextmanager
async def open_containers(
    docker: Docker, folder: Path, *, is_far: bool = False, **options: Any
) -> AsyncIterator[Bench]:
    """The bench with an executor that has containers."""
    async with open_bench(folder, **options) as bench:
        executor: Any = new_executor(docker, folder / "of-containers")
        if is_far:
            executor = FarExecutor(executor)
        try:
            workspace = await executor.acquire(Placement())
            bench.workplace = replace(bench.workplace, executor=executor, workspace=workspace)
            bench.workspace = executor.real(workspace) if is_far else workspace
            yield bench
        finally:
            await executor.close()


@pytest.fixture
async def bench(docker: Docker, tmp_path: Path, is_far: bool) -> AsyncIterator[Bench]:
    async with open_containers(docker, tmp_path, is_far=is_far) as bench:
        yield bench


async def test_a_step_in_a_container_hands_on_what_any_step_does(bench: Bench) -> None:
    script = """
        echo "<testsuite tests='1'><testcase name='a'/></testsuite>" > report.xml
        echo built > app
        echo "tag=v1" >> "$PITSTOP_OUTPUT"
    """

    outputs = await bench.outputs("run", {"script": script, "image": BOX, "tests": "report.xml", "artifacts": "app"})

    assert (outputs["exit_code"], outputs["tag"], outputs["tests"]["passed"]) == (0, "v1", 1)
    assert outputs["image_digest"].startswith("sha256:")
    assert bench.files_in(bench.workspace.artifacts) == {"app": "built\n"}


async def test_a_step_that_runs_as_another_user_can_hand_on_outputs(bench: Bench) -> None:
    config = {"script": 'echo "who=$(id -un)" >> "$PITSTOP_OUTPUT"', "image": TALKATIVE, "user": "image"}

    assert (await bench.outputs("run", config))["who"] == "app"


@pytest.mark.parametrize("config", [{"image": BOX}, {"image": TALKATIVE, "user": "image"}])
async def test_the_logs_of_steps_before_it_are_there_in_a_container(bench: Bench, config: dict[str, Any]) -> None:
    async def stored_log(occurrence: str, most_bytes: int) -> bytes:
        return f"the log of {occurrence}".encode()

    bench.workplace = replace(bench.workplace, stored_log=stored_log)
    config = {"script": 'echo "log=$(cat "$PITSTOP_CONTEXT/first.log")" >> "$PITSTOP_OUTPUT"', **config}
    first = Step("first", "run", {"script": "true"}, id="first", fills_context=True)
    root = Step("", "sequence", children=(first, Step("second", "run", config, fills_context=True)))

    run = await bench.execute(root, {"steps": {}}, OUR_TYPES.for_run(bench.workplace, ["run"]), log=MemoryLog())

    assert run.done["second"].outputs["log"] == "the log of first"


AS_PYTEST = """
    file=${PYTEST_ADDOPTS#*--junitxml=}
    echo "<testsuite><testcase name='a'/></testsuite>" > "${file%% *}"
"""


@pytest.mark.parametrize("config", [{"image": BOX}, {"image": TALKATIVE, "user": "image"}])
async def test_a_report_of_pytest_in_a_container_is_taken_whoever_writes_it(
    bench: Bench, config: dict[str, Any]
) -> None:
    outputs = await bench.outputs("run", {"script": AS_PYTEST, "tests": "pytest", **config})
    assert outputs["tests"]["passed"] == 1

    assert "tests" not in await bench.outputs("run", {"script": "true", "tests": "pytest", **config})


async def test_a_script_runs_in_sh_unless_another_shell_is_named(bench: Bench) -> None:
    await bench.outputs("run", {"script": "readlink /proc/$$/exe; echo $0 $1", "image": BOX})
    assert "/bin/busybox" in bench.said

    assert "has no bash to run the script with" in await bench.failure(
        "run", {"script": "true", "image": BOX, "shell": "bash"}
    )
    outputs = await bench.outputs("run", {"script": "in a file", "image": BOX, "shell": ["cat", "{file}"]})
    assert outputs["exit_code"] == 0
    assert bench.said.endswith("in a file")


async def test_the_home_of_the_person_is_not_that_of_the_container(docker: Docker, tmp_path: Path) -> None:
    async with open_containers(docker, tmp_path, env={"HOME": "/home/of-mine"}) as bench:
        await bench.outputs("run", {"script": "echo $HOME", "image": BOX})
        assert bench.said == f"{bench.workspace.home}\n"

        await bench.outputs("run", {"script": "echo $HOME", "image": BOX, "env": {"HOME": "/tmp"}})
        assert bench.said.endswith("/tmp\n")


async def test_a_secret_is_masked_in_what_a_container_says(docker: Docker, tmp_path: Path) -> None:
    secrets = {"TOKEN": "hunter2hunter2"}
    async with open_containers(docker, tmp_path, secrets=secrets, env=secrets) as bench:
        await bench.outputs("run", {"script": "echo the token is $TOKEN", "image": BOX})

    assert bench.said == "the token is ***\n"


async def test_a_secret_in_a_script_is_in_no_argument_in_a_container(docker: Docker, tmp_path: Path) -> None:
    async with open_containers(docker, tmp_path, secrets={"TOKEN": "hunter2hunter2"}) as bench:
        script = "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' # hunter2hunter2"
        await bench.outputs("run", {"script": script, "image": BOX})
        await bench.outputs("run", {"script": script, "image": TALKATIVE, "user": "image"})
        check = "test hunter2hunter2 && cat /proc/[0-9]*/cmdline | tr '\\0' ' ' > /seen; true"
        ask = "until nc web 80 </dev/null; do sleep 0.1; done"
        argv = ["sh", "-c", "while true; do nc -l -p 80 -e cat /seen; done"]
        service = {"image": BOX, "command": argv, "health": check}
        await bench.outputs("run", {"script": ask, "image": BOX, "services": {"web": service}})
        refused = await bench.failure(
            "run", {"script": ask, "image": BOX, "services": {"web": {**service, "command": ["hunter2hunter2"]}}}
        )

    assert bench.said.count("eval ") >= 2
    assert "PITSTOP_HEALTH_CHECK" in bench.said
    assert "***" not in bench.said
    assert "would be visible in the arguments" in refused


async def test_a_step_that_takes_too_long_is_ended_in_its_container(bench: Bench, docker: Docker) -> None:
    outcome = await bench.act("run", {"script": "exec sleep 1000", "image": BOX}, timeout_seconds=1.5)

    assert outcome.status.value == "timed_out"
    assert docker.left() == {}


async def test_services_need_an_image(bench: Bench) -> None:
    error = await bench.failure("run", {"script": "true", "services": {"db": {"image": BOX}}})

    assert "services: db cannot be satisfied: only a step with an `image` can reach services" in error


def test_the_container_of_a_configuration() -> None:
    image, options = container_of(
        {
            "script": "make",
            "image": "go",
            "pull": "always",
            "user": "root",
            "cpus": 1.5,
            "memory": "1g",
            "platform": "linux/arm64",
            "entrypoint": True,
            "services": {
                "db": {"image": "postgres", "env": {"PORT": 5432}, "health": "pg_isready || exit 1", "shared": True},
                "web": {"image": "nginx", "command": "nginx -g 'daemon off;'", "health": {"start": "2m"}},
            },
        }
    )

    assert image == "go"
    assert options == ContainerOptions(
        pull="always",
        user="root",
        cpus=1.5,
        memory_bytes=1024**3,
        platform="linux/arm64",
        entrypoint=True,
        services=(
            Service(
                name="db",
                image="postgres",
                env={"PORT": "5432"},
                health=Health(command=("sh", "-c", "pg_isready || exit 1")),
                shared=True,
            ),
            Service(name="web", image="nginx", argv=("nginx", "-g", "daemon off;"), health=Health(start_seconds=120.0)),
        ),
    )
    assert container_of({"script": "make"}) == (None, ContainerOptions())


@pytest.mark.parametrize(
    ("written", "size"),
    [("512m", 512 * 1024**2), ("1.5g", 1536 * 1024**2), ("8MB", 8 * 1024**2), ("7 MiB", 7 * 1024**2), (10**7, 10**7)],
)
def test_memory_can_be_written_in_several_ways(written: object, size: int) -> None:
    assert parse_memory(written) == size


@pytest.mark.parametrize("written", ["lots", "-1g", "", "1t", "5m", 0, True, None, [], "1e9g"])
def test_what_is_no_amount_of_memory_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="memory"):
        parse_memory(written)


@pytest.mark.parametrize(
    "config",
    [
        {"image": ""},
        {"image": "x", "cpus": 0},
        {"image": "x", "pull": "sometimes"},
        {"image": "x", "services": {"d_b": {"image": "y"}}},
        {"image": "x", "services": {"db": {"image": "y", "port": 1}}},
        {"image": "x", "services": {"db": {"image": "y", "health": {"interval": "soon"}}}},
    ],
)
def test_a_container_that_cannot_be_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        container_of(config)
