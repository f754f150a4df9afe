"""A private Docker daemon for the tests that need one, with images that are made here: nothing is pulled.

It needs root, and `apt-get install docker.io busybox-static`. Every worker has its own, and ends it.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.executors.processes import processes_with, wait_ended

BOX = "pitstop-test/box:1"  # busybox, with a user `app`
BARE = "pitstop-test/bare:1"  # two programs, and no shell
OTHER_ARCH = "pitstop-test/other-arch:1"
TALKATIVE = "pitstop-test/talkative:1"  # has a user and an entry point
WITH_PYTHON = "pitstop-test/with-python:1"  # busybox, and Python with what a scripted agent imports
WITH_NODE = "pitstop-test/with-node:1"  # busybox, and this machine's Node and bash
START_SECONDS = 90.0
ROOT = Path(__file__).parents[1]
# Prints the path of Python, and those of all that is needed to run a scripted agent and to ask its model
_LIST_MODULES = """
import contextlib, encodings.ascii, encodings.idna, encodings.latin_1, os, sys, tomllib, urllib.request
sys.path.insert(0, os.getcwd())
import tests.agents.scripted
print(os.path.realpath(sys.executable))
print(*{module.__file__ for module in sys.modules.values() if getattr(module, "__file__", None)}, sep="\\n")
"""
# The head of a program for 64-bit ARM, and no more than that
ARM_PROGRAM = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00\x01\x00\x00\x00" + bytes(40)


class Docker:
    """The daemon in a folder of its own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pitstop-docker-", dir="/tmp"))  # a short path, for the sockets
        self.socket = self.folder / "docker.sock"
        self.host = f"unix://{self.socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def words(self) -> list[str]:
        """The command that is the daemon."""
        folders = ("--data-root", f"{self.folder}/data", "--exec-root", f"{self.folder}/exec")
        network = ("--bridge=none", "--iptables=false")
        return ["dockerd", "--host", self.host, *folders, "--pidfile", f"{self.folder}/pid", *network]

    def start(self, *options: str) -> None:
        """Start it, and wait until it answers. In a network of its own it meets no other daemon of this machine."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", "unshare", "--net", *self.words(), *options],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while subprocess.run(["docker", "-H", self.host, "version"], capture_output=True, check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=60)
            self._process = None

    def kill(self) -> None:
        """As a crash of both its processes does; containers go on without them."""
        assert self._process is not None
        pid_file = self.folder / "exec/containerd/containerd.pid"
        pidfd = os.pidfd_open(int(pid_file.read_text()))
        self._process.kill()
        self._process.wait()
        self._process = None
        with contextlib.suppress(ProcessLookupError):  # it ends with the daemon
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        wait_ended(pidfd)
        for left in (pid_file, self.folder / "pid"):  # the next daemon would not start while anything has these ids
            left.unlink(missing_ok=True)

    def remove(self) -> None:
        self.stop()
        for pid in processes_with(str(self.folder)):  # what a crash has left
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for path in sorted((path for path in mounted if path.startswith(str(self.folder))), reverse=True):
            subprocess.run(["umount", "--lazy", path], check=False)
        shutil.rmtree(self.folder)

    def says(self, *words: str | Path, stdin: bytes | None = None) -> str:
        """What the `docker` command prints."""
        done = subprocess.run(["docker", "-H", self.host, *words], input=stdin, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def left(self) -> dict[str, str]:
        """What is there of ours."""
        labelled = ("--filter", "label=pitstop.owner")
        found = {
            "containers": self.says("ps", "--all", "--quiet"),
            "networks": self.says("network", "ls", "--quiet", *labelled),
            "volumes": self.says("volume", "ls", "--quiet"),
        }
        return {kind: names for kind, names in found.items() if names}

    @contextlib.contextmanager
    def registry(self, login: str = "") -> Iterator[str]:
        """The name of an image that can be pulled, from a registry in the daemon's own network."""
        assert self._process is not None
        beside = ("nsenter", "--target", str(self._process.pid), "--net")
        layer = self.folder / "layer.tar"
        layer.write_bytes(_box())
        subprocess.run([*beside, "ip", "link", "set", "lo", "up"], check=True)
        words = (
            sys.executable,
            Path(__file__).with_name("executors") / "registry.py",
            "5000",
            layer,
            "some/box",
            login,
        )
        with subprocess.Popen(
            [*beside, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as registry:
            try:
                assert registry.stdout is not None
                assert registry.stdout.readline() == b"ready\n"
                yield "127.0.0.1:5000/some/box:1"
            finally:
                registry.terminate()

    def make_images(self) -> None:
        busybox = _busybox()
        self.says("import", "-", BOX, stdin=_box())
        self.says("import", "-", BARE, stdin=_root({"bin/cat": busybox, "bin/tee": busybox}))
        self.says("load", stdin=_image(OTHER_ARCH, "arm64", _root({"bin/sh": ARM_PROGRAM})))
        entry = ("--change", "USER app", "--change", 'ENTRYPOINT ["/bin/echo", "it was asked:"]')
        self.says("import", *entry, "-", TALKATIVE, stdin=_box())

    def make_image_with_python(self) -> None:
        """The agent, which is in tests/, has the same path in it as here."""
        found = subprocess.run(
            [sys.executable, "-S", "-E", "-c", _LIST_MODULES], cwd=ROOT, capture_output=True, text=True, check=True
        )
        python, *modules = found.stdout.splitlines()
        self.says("import", "-", WITH_PYTHON, stdin=_box({"python3": python}, modules))

    def make_image_with_node(self) -> None:
        self.says("import", "-", WITH_NODE, stdin=_box({name: _here(name) for name in ("node", "bash")}))


class Podman(Docker):
    """Podman's service, which takes the same requests. It needs `apt-get install podman catatonit runc` too."""

    def words(self) -> list[str]:
        """The limits are those that it may set where the tests run, which may be a container itself."""
        limits = 'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]'
        (self.folder / "containers.conf").write_text(f'[containers]\n{limits}\n[engine]\nruntime = "runc"\n')
        named = {"root": "data", "runroot": "run", "tmpdir": "tmp", "network-config-dir": "networks"}
        folders = [f"--{option}={self.folder}/{name}" for option, name in named.items()]
        configured = ("env", f"CONTAINERS_CONF={self.folder}/containers.conf")
        return [*configured, "podman", *folders, "--cgroup-manager=cgroupfs", "system", "service", "-t0", self.host]


def _here(program: str) -> str:
    path = shutil.which(program)
    assert path is not None, f"{program} is not installed"
    return str(Path(path).resolve())


def _busybox() -> bytes:
    return Path(_here("busybox")).read_bytes()


def _box(added: Mapping[str, str] | None = None, modules: Iterable[str] = ()) -> bytes:
    """Busybox, with programs of this machine by their names, and their modules: each where it is here."""
    passwd = b"root:x:0:0::/root:/bin/sh\napp:x:1234:1234::/home/app:/bin/sh\n"
    applets = subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
    links = {f"bin/{name}": "busybox" for name in applets if name != "busybox"}
    links |= {f"bin/{name}": program for name, program in (added or {}).items()}
    links["usr/bin/env"] = "/bin/busybox"
    linked = [*(added or {}).values(), *(module for module in modules if module.endswith(".so"))]
    copied = {path[1:]: Path(path).read_bytes() for path in (*linked, *_libraries(linked))}
    files = {"etc/passwd": passwd, "etc/group": b"app:x:1234:\n"}
    files |= {module[1:]: Path(module).read_bytes() for module in modules if module[1:] not in copied}
    return _root({"bin/busybox": _busybox(), **copied}, links, files)


def _libraries(programs: Iterable[str]) -> set[str]:
    """The shared libraries that they are linked with, and one of the C library that others may be linked with."""
    found = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True).stdout if programs else ""
    libraries = set(re.findall(r"(/\S+) \(0x", found))
    return libraries | {path.replace("libc.so.6", "librt.so.1") for path in libraries}


def _root(
    programs: Mapping[str, bytes], links: Mapping[str, str] | None = None, files: Mapping[str, bytes] | None = None
) -> bytes:
    """The root of a file system, as an archive."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        temporary = tarfile.TarInfo("tmp")
        temporary.type, temporary.mode = tarfile.DIRTYPE, 0o1777
        archive.addfile(temporary)
        for name, content in {**programs, **(files or {})}.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755 if name in programs else 0o644
            archive.addfile(entry, io.BytesIO(content))
        for name, target in (links or {}).items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
    return packed.getvalue()


def _image(name: str, arch: str, layer: bytes) -> bytes:
    """An image for another machine, as `docker save` writes it: `docker import` makes them for this one."""
    layers = {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]}
    config = {"architecture": arch, "os": "linux", "config": {}, "rootfs": layers}
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    files = {"config.json": json.dumps(config).encode(), "manifest.json": json.dumps(manifest).encode()}
    return _root({}, files={**files, "layer.tar": layer})


@pytest.fixture(scope="session")
def docker(request: pytest.FixtureRequest) -> Iterator[Docker]:
    """The daemon of this worker, with the images. If all tests passed, nothing of ours may be left in it."""
    daemon = Docker()
    try:
        daemon.start()
        daemon.make_images()
        yield daemon
        assert request.session.testsfailed or daemon.left() == {}
    finally:
        daemon.remove()
