"""`pitstop agents`: what is listed, and with which command an image is built."""

import json
from pathlib import Path

import pytest

from pitstop.__main__ import load_command
from pitstop.app import open_service
from pitstop.doors.cli.app import Commands, run_cli
from pitstop.doors.cli.exit_codes import BAD_USAGE, FAILED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.steps.agents.image_recipes import image_recipes
from tests.doors.cli.command_line import CommandLine


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """All that there is in PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    return folder


def write_program(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def test_agents_are_listed_with_what_is_installed_and_what_each_needs(cli: CommandLine, programs: Path) -> None:
    write_program(programs, "claude", "echo '2.1.197 (Claude Code)'")
    write_program(programs, "codex", "echo 'no config' >&2; exit 3")

    said = cli.run("agents", env={"PATH": str(programs)})

    assert said.code == 0
    paragraphs = {each.partition(":")[0]: each for each in said.out.split("\n\n")}
    assert list(paragraphs) == ["aider", "claude", "codex", "gemini", "opencode"]
    assert f"2.1.197 ({programs}/claude)" in paragraphs["claude"]
    assert "needs    ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN" in paragraphs["claude"]
    assert "stops    a guarantee" in paragraphs["claude"]
    assert "agents image claude" in paragraphs["claude"]
    assert "`--version` failed with exit code 3: no config" in paragraphs["codex"]
    assert "stops    a convenience" in paragraphs["codex"]
    assert "not installed; to install it: npm install -g @google/gemini-cli" in paragraphs["gemini"]
    assert "stops    none" in paragraphs["opencode"]


def test_agents_are_listed_as_json(cli: CommandLine, programs: Path) -> None:
    write_program(programs, "codex", "echo codex-cli 0.166.0")

    said = cli.run("agents", "ls", "--json", env={"PATH": str(programs)})

    agents = {agent["name"]: agent for agent in map(json.loads, said.lines)}
    assert agents["codex"]["version"] == "0.166.0"
    assert agents["codex"]["path"] == f"{programs}/codex"
    assert {name: agent["stops"] for name, agent in agents.items()} == {
        "aider": "none",
        "claude": "guarantee",
        "codex": "convenience",
        "gemini": "convenience",
        "opencode": "none",
    }
    assert agents["claude"]["path"] is None
    assert agents["claude"]["image"] == image_recipes()["claude"].image
    assert agents["aider"]["image"] is None


def test_an_image_is_built_with_the_named_engine_and_its_name_is_printed_for_a_flow(
    cli: CommandLine, programs: Path
) -> None:
    write_program(programs, "podman", 'echo "$@"')

    said = cli.run("agents", "image", "claude", "--engine", "podman", env={"PATH": str(programs)})

    recipe = image_recipes()["claude"]
    assert said.code == 0
    assert said.lines == [recipe.image, f"in a flow: `image: {recipe.image}`"]
    assert f"build --tag {recipe.image} --file {recipe.file} {recipe.folder}" in said.err


def test_a_build_gets_proxies_and_registries_by_name_only(cli: CommandLine, programs: Path) -> None:
    write_program(programs, "docker", 'echo "$@"')
    env = {"PATH": str(programs), "https_proxy": "http://user:hidden@proxy", "NPM_CONFIG_REGISTRY": "http://npm"}

    said = cli.run("agents", "image", "codex", "--engine", "docker", "--tag", "mine:1", "--json", env=env)

    assert json.loads(said.out) == {"image": "mine:1", "engine": "docker"}
    assert "build --tag mine:1 --build-arg" in said.err
    assert "--build-arg https_proxy --build-arg NPM_CONFIG_REGISTRY --file" in said.err
    assert "hidden" not in said.err


def test_a_build_that_fails_is_a_failure(cli: CommandLine, programs: Path) -> None:
    write_program(programs, "docker", "echo no space left; exit 7")

    said = cli.run("agents", "image", "test", "--engine", "docker", env={"PATH": str(programs)})

    assert (said.code, said.out) == (1, "")
    assert "no space left" in said.err
    assert f"docker failed to build {image_recipes()['test'].image} (exit code 7)" in said.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["image"], BAD_USAGE, "needs the name of an image: claude, codex, gemini, test"),
        (["image", "cluade"], BAD_USAGE, "there is no agent image 'cluade': did you mean 'claude'?"),
        (["image", "x"], BAD_USAGE, "there is no agent image 'x': there are claude, codex, gemini, test"),
        (["image", "test", "--engine", "podman"], FAILED, "the `podman` command is not in PATH"),
        (["image", "test"], FAILED, "no container engine answers on this machine"),
        (["ls", "claude"], BAD_USAGE, "are for `pitstop agents image`"),
    ],
)
def test_what_cannot_be_built_is_said_in_a_sentence(
    programs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{programs}/none.sock")
    monkeypatch.setenv("PITSTOP_HOME", f"{programs}/state")

    commands = Commands({"agents": ""}, load_command)

    assert run_cli(["agents", *words], commands, open_service, Interrupts()) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", image_recipes())
def test_an_image_has_a_fixed_version_and_a_user_that_is_not_root(name: str) -> None:
    recipe = image_recipes()[name]
    *_, last = recipe.file.read_text().splitlines()

    assert recipe.version[0].isdigit()
    assert last.startswith("USER ")
    assert last != "USER root"
