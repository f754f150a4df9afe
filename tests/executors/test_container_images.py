"""Pulling images, from a registry beside a real daemon, and what is told of it."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pitstop.engine.container import ContainerOptions
from pitstop.executors.machine.containers import images as container_images
from pitstop.executors.machine.containers.credentials import DOCKER_HUB, credentials_for, registry_of
from pitstop.executors.machine.containers.images import Progress, with_tag
from tests.containers import Docker
from tests.executors.container_bench import Bench, open_bench


@pytest.fixture
async def bench(docker: Docker, tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_bench(docker, tmp_path) as bench:
        yield bench


async def test_a_missing_image_is_pulled_once_and_told_by_the_digest_of_its_registry(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container_images, "TELL_SECONDS", 0.0)
    with bench.docker.registry() as image:
        result, said = await bench.run("echo hello", image=image)
        again, said_again = await bench.run("echo hello", image=image)
        _, always = await bench.run("echo hello", image=image, container=ContainerOptions(pull="always"))
        digest = bench.docker.says("image", "inspect", "--format", "{{index .RepoDigests 0}}", image)

    first, *progress, last, hello = said.splitlines()
    assert first == f"pitstop: pulling image {image}"
    assert progress
    assert all(line.startswith(f"pitstop: pulling image {image}") for line in progress)
    assert last.startswith(f"pitstop: pulled image {image} in ")
    assert hello == "hello"
    assert said_again == "hello\n"
    assert "pulling image" in always
    assert f"127.0.0.1:5000/some/box@{result.image_digest}" == digest
    assert result.image_digest == again.image_digest
    bench.docker.says("rmi", image)


async def test_a_pull_uses_the_login_of_the_person(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with bench.docker.registry("me:secret") as image:
        refused, _ = await bench.run("true", image=image)
        login = base64.b64encode(b"me:secret").decode()
        (tmp_path / "config.json").write_text(json.dumps({"auths": {"127.0.0.1:5000": {"auth": login}}}))
        result, said = await bench.run("echo in", image=image)

    assert f"cannot pull image {image}" in refused.reason
    assert (result.state, said.splitlines()[-1]) == ("completed", "in")
    assert "secret" not in said
    bench.docker.says("rmi", image)


async def test_an_image_that_the_registry_does_not_have_is_told(bench: Bench) -> None:
    with bench.docker.registry() as image:
        result, _ = await bench.run("true", image=image.replace("some/box", "no/such"))

    assert (result.state, result.exit_code) == ("failed", 126)
    assert "cannot pull image 127.0.0.1:5000/no/such:1" in result.reason


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("busybox", DOCKER_HUB),
        ("some/one:1", DOCKER_HUB),
        ("docker.io/some/one", DOCKER_HUB),
        ("ghcr.io/some/one@sha256:abc", "ghcr.io"),
        ("localhost/x", "localhost"),
        ("registry:5000/x", "registry:5000"),
    ],
)
def test_the_registry_of_an_image(image: str, registry: str) -> None:
    assert registry_of(image) == registry


@pytest.mark.parametrize(
    ("image", "tagged"),
    [
        ("box", "box:latest"),
        ("a.b:5000/box", "a.b:5000/box:latest"),
        ("box:1", "box:1"),
        ("box@sha256:1", "box@sha256:1"),
    ],
)
def test_an_image_without_a_tag_is_the_latest(image: str, tagged: str) -> None:
    assert with_tag(image) == tagged


async def test_a_login_can_be_kept_by_a_helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = tmp_path / "docker-credential-safe"
    helper.write_text(
        '#!/bin/sh\nread registry\necho "{\\"Username\\": \\"me at $registry\\", \\"Secret\\": \\"s\\"}"\n'
    )
    helper.chmod(0o755)
    (tmp_path / "config.json").write_text('{"credHelpers": {"ghcr.io": "safe", "quay.io": "absent"}}')
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    environment = {"DOCKER_CONFIG": str(tmp_path)}

    header = await credentials_for("ghcr.io/x", environment)

    login = json.loads(base64.urlsafe_b64decode(header["X-Registry-Auth"]))
    assert login == {"username": "me at ghcr.io", "password": "s", "serveraddress": "ghcr.io"}
    assert await credentials_for("quay.io/x", environment) == {}
    assert await credentials_for("x", environment) == {}


def test_the_progress_of_a_pull_is_that_of_all_its_layers() -> None:
    progress = Progress("box")
    assert str(progress) == "pulling image box"
    for layer, current in (("a", 1_000_000), ("b", 3_000_000)):
        detail = {"current": current, "total": 10_000_000}
        progress.hear({"status": "Downloading", "id": layer, "progressDetail": detail})

    assert str(progress) == "pulling image box: 4 of 20 MB"
    progress.hear({"status": "Extracting", "id": "a", "progressDetail": {"current": 1, "total": 3}})
    assert str(progress) == "pulling image box: 13 of 20 MB"
