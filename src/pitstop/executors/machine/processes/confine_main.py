"""The program in front of a confined command: it makes the command's namespaces, and then becomes the command.

As root it does that directly, otherwise in a user namespace, which some machines forbid. The command cannot undo it: as
root it has lost the rights that this takes, and otherwise it is in a second user namespace that does not own the first.
It runs as a file of its own in a bare interpreter, so it imports nothing of Pitstop.
"""

import ctypes
import fcntl
import marshal
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Sequence

EXIT_NOT_EXECUTABLE = 126
NEW_MOUNTS, NEW_USER, NEW_NETWORK = 0x00020000, 0x10000000, 0x40000000  # of unshare(2)
READ_ONLY, REMOUNT, BIND, WITH_ALL_BELOW, PRIVATE = 1, 1 << 5, 1 << 12, 1 << 14, 1 << 18  # of mount(2)
KEPT_FLAGS = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC  # in a user namespace, a mount must not lose these
IS_IN_BOUNDS, DROP_FROM_BOUNDS, AMBIENT, CLEAR_AMBIENT = 23, 24, 47, 4  # of prctl(2)
CAPABILITIES_VERSION = 0x20080522
# dac_read_search, sys_module, sys_rawio, sys_ptrace (/proc/PID/root), sys_admin, sys_boot, mknod, perfmon, bpf,
# checkpoint_restore: with each of them root gets at what is outside its namespaces
DROPPED_CAPABILITIES = (2, 16, 17, 19, 21, 22, 27, 38, 39, 40)
SET_INTERFACE_FLAGS, IS_UP = 0x8914, 1
INTERFACE_REQUEST = struct.Struct("16sH22x")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]


class Refused(Exception):
    """Something that was asked for cannot be had here."""


def confine(
    read_only: Sequence[bytes],
    writable: Sequence[bytes],
    pinned: Sequence[bytes],
    has_network: bool,
    most_processes: int | None,
) -> None:
    """Confine this process, and what it becomes. Raises Refused or OSError; it must end then."""
    needed = (NEW_MOUNTS if read_only else 0) | (0 if has_network else NEW_NETWORK)
    is_root = os.geteuid() == 0
    if is_root:
        _call("cannot make namespaces", _libc.unshare, needed)
    else:
        _enter_user_namespace(needed)
    if read_only:
        _mount(read_only, writable, pinned)
    if not has_network:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, SET_INTERFACE_FLAGS, INTERFACE_REQUEST.pack(b"lo", IS_UP))
    if most_processes is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (most_processes, most_processes))
    if is_root:
        _drop_capabilities()
    else:
        _enter_user_namespace()


def _enter_user_namespace(also: int = 0) -> None:
    ids = {"uid": os.geteuid(), "gid": os.getegid()}
    _call("cannot make a user namespace", _libc.unshare, NEW_USER | also)
    _write("/proc/self/setgroups", "deny")
    for kind, number in ids.items():
        _write(f"/proc/self/{kind}_map", f"{number} {number} 1")


def _mount(read_only: Sequence[bytes], writable: Sequence[bytes], pinned: Sequence[bytes]) -> None:
    """Parents come first, so that no mount is below another before that is made."""
    _call("cannot make mounts private", _libc.mount, b"none", b"/", None, WITH_ALL_BELOW | PRIVATE, None)
    for path in sorted({*read_only, *writable, *pinned}, key=lambda path: path.split(b"/")):
        _call(f"cannot mount {os.fsdecode(path)}", _libc.mount, path, path, None, BIND | WITH_ALL_BELOW, None)
    for path in _mount_points():
        around = [other for other in (*read_only, *writable) if (path + b"/").startswith(other.rstrip(b"/") + b"/")]
        if around and max(around, key=len) in read_only:
            flags = REMOUNT | BIND | READ_ONLY | os.statvfs(path).f_flag & KEPT_FLAGS
            _call(f"cannot make {os.fsdecode(path)} read-only", _libc.mount, None, path, None, flags, None)


def _mount_points() -> list[bytes]:
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123 (pathlib takes longer to load than all the rest)
        points = {line.split(b" ")[4] for line in file}
    return sorted(point.decode("unicode_escape").encode("latin-1") for point in points)


def _drop_capabilities() -> None:
    """Those of programs that root starts are the bounds and what is inheritable."""
    _call("cannot clear capabilities", _libc.prctl, AMBIENT, CLEAR_AMBIENT, 0, 0, 0)
    for number in DROPPED_CAPABILITIES:
        if _libc.prctl(IS_IN_BOUNDS, number, 0, 0, 0) == 1:
            _call("cannot drop capabilities", _libc.prctl, DROP_FROM_BOUNDS, number, 0, 0, 0)
    header, sets = struct.pack("Ii", CAPABILITIES_VERSION, 0), ctypes.create_string_buffer(24)
    _call("cannot read capabilities", _libc.capget, header, sets)
    effective, permitted, _, more_effective, more_permitted, _ = struct.unpack("6I", sets.raw)
    kept = struct.pack("6I", effective, permitted, 0, more_effective, more_permitted, 0)
    _call("cannot drop capabilities", _libc.capset, header, kept)


def start_forwarder(program: bytes, folder: bytes, sockets: Sequence[bytes]) -> None:
    """Start it, and wait until it listens. It belongs to the supervisor then, which ends it after the command."""
    ready, theirs = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, theirs, 1),
    ]
    words: list[bytes | str] = [sys.executable, "-I", "-S", program, folder, *sockets]
    os.waitpid(os.posix_spawn(sys.executable, words, {}, file_actions=actions), 0)
    os.close(theirs)
    if not os.read(ready, 1):
        raise Refused("cannot forward the ports of the command")
    os.close(ready)


def _call(problem: str, function: "ctypes._NamedFuncPointer", *arguments: object) -> None:
    if function(*arguments) == -1:
        raise Refused(f"{problem}: {os.strerror(ctypes.get_errno())}")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123
        file.write(text)


def _environment() -> dict[bytes, bytes]:
    """That of this process as it was given: Python may have added to it."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123
        given = file.read().split(b"\0")
    return {name: value for name, found, value in (entry.partition(b"=") for entry in given) if found}


def main(request: str, *words: str) -> None:
    """Become the command of these words: its program, and then its arguments. Without any there is none."""
    environment = _environment()
    wanted = marshal.loads(bytes.fromhex(request))
    cwd, forwards = wanted.pop("cwd"), wanted.pop("forwards")
    try:
        confine(**wanted)
        os.chdir(cwd)  # as it is seen from here: what is mounted is not where this process was
        if forwards:
            start_forwarder(*forwards)
    except (Refused, OSError) as problem:
        _end(str(problem))
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python
        signal.signal(ignored, signal.SIG_DFL)
    if words:
        try:
            os.execve(words[0], words[1:], environment)
        except OSError as error:
            _end(f"cannot run {words[0]}: {error.strerror}")


def _end(reason: str) -> None:
    os.write(2, os.fsencode(f"pitstop: {reason}\n"))
    sys.exit(EXIT_NOT_EXECUTABLE)


if __name__ == "__main__":
    main(*sys.argv[1:])
