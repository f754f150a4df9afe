"""Folders full of everything, and all that can be told about them, to compare before and after."""

import os
import stat
from pathlib import Path

from pitstop.executors.machine.snapshots.store import SnapshotStore


def size_of(store: SnapshotStore) -> int:
    """How many bytes the objects have. Those that share blocks are counted whole."""
    return sum(path.stat().st_size for path in store._root.glob("objects/??/*"))


def description(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything about every path that a snapshot is to keep: mode, owner, time, content, and who shares the file."""
    paths = [folder, *_below(folder)]
    names: dict[int, list[str]] = {}
    for path in paths:
        if stat.S_ISREG(path.lstat().st_mode):
            names.setdefault(path.lstat().st_ino, []).append(str(path.relative_to(folder)))
    described: dict[str, tuple[object, ...]] = {}
    for path in paths:
        status = path.lstat()
        content: object = None
        if stat.S_ISLNK(status.st_mode):
            content = path.readlink()
        elif stat.S_ISREG(status.st_mode):
            content = path.read_bytes(), tuple(sorted(names[status.st_ino]))
        described[str(path.relative_to(folder))] = (
            oct(status.st_mode),
            status.st_uid,
            status.st_gid,
            status.st_mtime_ns,
            content,
        )
    return described


def make_something_of_everything(folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "file").write_bytes(bytes(range(256)) * 100)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o754)
    (folder / "nothing").write_text("")
    (folder / "link").symlink_to("run.sh")
    (folder / "dangling").symlink_to("/no/such/place")
    (folder / "folder-link").symlink_to("deep")
    (folder / "way-out").symlink_to("/etc")
    os.link(folder / "run.sh", folder / "hard-link")
    os.link(folder / "run.sh", folder / "deep" / "hard-link")
    os.mkfifo(folder / "fifo")
    (folder / "näme with spaces\nand a newline").write_text("ok")
    Path(os.fsdecode(os.fsencode(folder) + b"/no text: \xff\xfe")).write_text("ok")
    (folder / ("long" * 60)).write_text("long")
    with (folder / "holes").open("wb") as file:
        file.seek(10_000_000)
        file.write(b"after the hole")
        file.truncate(20_000_000)
    (folder / "large").write_bytes(b"large" * 1_000_000)
    (folder / "sealed").mkdir()
    (folder / "sealed" / "file").write_text("")
    (folder / "sealed" / "file").chmod(0o400)
    (folder / "sealed").chmod(0o555)
    os.utime(folder / "run.sh", ns=(1, 1_234_567_890_123_456_789))
    os.utime(folder / "link", ns=(1, 987_654_321), follow_symlinks=False)
    os.utime(folder / "empty", ns=(1, 5_000_000_001))


SPOILINGS = {
    "nothing": "",
    "a changed file": "echo spoiled > run.sh",
    "a file changed in place, of the same size and time": "touch -r deep/er/file t; "
    "printf X | dd of=deep/er/file conv=notrunc status=none; touch -r t deep/er/file; rm t",
    "a changed mode": "chmod 600 run.sh",
    "a changed time": "touch large",
    "a removed file": "rm hard-link",
    "a removed folder": "rmdir empty",
    "a new file": "echo new > deep/new",
    "a new tree": "mkdir -p new/tree/here",
    "a new hard link": "ln large deep/large",
    "a hard link that is none any more": "rm hard-link; cp -p run.sh hard-link",
    "a hard link to another": "rm hard-link; ln nothing hard-link",
    "a file instead of a folder": "rmdir empty; touch empty",
    "a folder instead of a file": "rm run.sh; mkdir -p run.sh/inner",
    "a link instead of a folder": "rmdir empty; ln -s /etc empty",
    "a folder instead of a link": "rm folder-link; mkdir folder-link; touch folder-link/file",
    "a link that leads elsewhere": "ln -sfn empty folder-link",
    "a file instead of a fifo": "rm fifo; echo no > fifo",
    "two that changed places": "mv run.sh x; mv large run.sh; mv x large",
    "a folder with another name": "mv deep shallow",
    "a hole that was filled": "cp --sparse=never holes x; mv x holes",
    "a folder that may not be entered": "chmod 000 deep",
    "all of it closed": "chmod 000 deep/er; chmod 000 deep empty sealed",
    "nothing left": "chmod -R u+w .; rm -rf ./*",
}


def _below(folder: Path) -> list[Path]:
    return sorted(Path(parent, name) for parent, names, files in os.walk(folder) for name in [*names, *files])
