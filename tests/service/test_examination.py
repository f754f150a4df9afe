from pathlib import Path

import pytest

from pitstop.service.examination import find_podman_dns


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


def _program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
