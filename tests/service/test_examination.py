from pathlib import Path

import pytest

from pitstop.service.examination import find_git, find_podman_dns


@pytest.fixture
def podman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with Podman, and the folder of its plugins."""
    _program(tmp_path / "bin/podman")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "plugins"


@pytest.mark.parametrize("plugin", ["dnsname", "aardvark-dns"])
def test_podman_reaches_services_by_name_with_a_dns_plugin(podman: Path, plugin: str) -> None:
    _program(podman / plugin)

    (finding,) = find_podman_dns([str(podman)])

    assert finding.works
    assert str(podman / plugin) in finding.detail


def test_doctor_names_the_package_that_podman_misses(podman: Path) -> None:
    (finding,) = find_podman_dns([str(podman)])

    assert not finding.works
    assert not finding.is_needed
    assert "golang-github-containernetworking-plugin-dnsname" in finding.detail


def test_without_podman_no_plugin_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert find_podman_dns([]) == []


@pytest.mark.parametrize(
    ("version", "works"), [("2.37.9", False), ("2.38.0", True), ("2.47.3", True), ("3.0.1", True), ("1.9", False)]
)
def test_doctor_knows_which_git_can_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, works: bool
) -> None:
    _program(tmp_path / "git", f"#!/bin/sh\necho git version {version}\n")
    monkeypatch.setenv("PATH", str(tmp_path))

    finding = find_git()

    assert (finding.works, finding.is_needed) == (works, False)
    assert f"git version {version}" in finding.detail
    assert works or "older than 2.38: `merge` steps cannot run" in finding.detail


def test_doctor_says_what_needs_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert find_git().detail == "not found in PATH: repositories and checkouts of commits need it"


def _program(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
