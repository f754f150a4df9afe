"""The files of a workspace as one tar stream, and the same files again: contents, modes, links, times, nothing else.

Ownership is restored where this process may. Sockets, devices and extended attributes are not part of a snapshot.
"""

import os
import shutil
import stat
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from pitstop.errors import Unavailable
from pitstop.executors.machine.workspaces.workspace import remove_tree

END = "end-of-snapshot"  # without it as the last member the stream was cut short
COPY_BYTES = 1024 * 1024
Folders = Mapping[str, Path]  # by the name that they have in the snapshot


def write_snapshot(folders: Folders, without: Path, output: BinaryIO) -> None:
    """Write the folders, but not the one that is `without`. Raises Unavailable if they change at the same time."""

    def as_it_is(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        path = _path_of(member.name, folders)
        if path == without or member.ischr() or member.isblk():
            return None
        seconds, nanoseconds = divmod(path.lstat().st_mtime_ns, 10**9)
        member.pax_headers = {"mtime": f"{seconds}.{nanoseconds:09}"}
        return member

    try:
        with tarfile.open(fileobj=output, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, folder in folders.items():
                archive.add(folder, name, filter=as_it_is)
            archive.addfile(tarfile.TarInfo(END))
    except OSError as error:
        raise Unavailable(f"the workspace could not be read: {error}") from error


def apply_snapshot(folders: Folders, without: Path, snapshot: BinaryIO) -> None:
    """Make the folders what they were. Raises Unavailable, and has changed nothing, if the snapshot is damaged."""
    try:
        with tarfile.open(fileobj=snapshot, mode="r:") as archive:
            members = _checked_members(archive, folders)
            _remove_what_was_not_there(folders, without, {_path_of(member.name, folders) for member in members})
            for member in members:
                _put_back(archive, member, folders)
            for member in reversed(members):
                if member.isdir():
                    _dress(_path_of(member.name, folders), member)
    except (tarfile.TarError, EOFError) as error:
        raise Unavailable(f"the snapshot is damaged: {error}") from error
    except OSError as error:
        raise Unavailable(f"the snapshot could not be put back: {error}") from error


def _checked_members(archive: tarfile.TarFile, folders: Folders) -> list[tarfile.TarInfo]:
    """Every member but the end. Each lies in a folder that came before it, so no path can lead out through a link."""
    *members, end = archive.getmembers() or [tarfile.TarInfo()]
    if end.name != END:
        raise tarfile.ReadError("its end is missing")
    made: set[str] = set()
    seen: set[str] = set()
    for member in members:
        parent, _, name = member.name.rpartition("/")
        in_its_place = member.name in folders if not parent else parent in made
        if not in_its_place or name in ("", ".", "..") or member.name in seen:
            raise tarfile.ReadError(f"{member.name!r} has no place in a workspace")
        if member.islnk() and member.linkname not in seen:
            raise tarfile.ReadError(f"{member.name!r} links to {member.linkname!r}, which is not in it")
        seen.add(member.name)
        if member.isdir():
            made.add(member.name)
    return members


def _remove_what_was_not_there(folders: Folders, without: Path, were_there: set[Path]) -> None:
    for folder in folders.values():
        for parent, folder_names, file_names in os.walk(folder):
            for name in [*folder_names]:
                path = Path(parent, name)
                if path == without:
                    folder_names.remove(name)
                elif path not in were_there or path.is_symlink():
                    folder_names.remove(name)
                    _remove(path)
            for path in (Path(parent, name) for name in file_names):
                if path not in were_there:
                    path.unlink()


def _put_back(archive: tarfile.TarFile, member: tarfile.TarInfo, folders: Folders) -> None:
    path = _path_of(member.name, folders)
    if member.isdir() and path.is_dir() and not path.is_symlink():
        path.chmod(stat.S_IRWXU)  # its own mode comes when everything is in it
        return
    _remove(path)
    if member.isdir():
        path.mkdir(stat.S_IRWXU)
    elif member.issym():
        path.symlink_to(member.linkname)
        _dress(path, member)
    elif member.islnk():
        os.link(_path_of(member.linkname, folders), path, follow_symlinks=False)
    elif member.isfifo():
        os.mkfifo(path)
        _dress(path, member)
    else:
        content = archive.extractfile(member)
        with path.open("xb") as file:
            if content is not None:
                shutil.copyfileobj(content, file, COPY_BYTES)
        _dress(path, member)


def _dress(path: Path, member: tarfile.TarInfo) -> None:
    """Owner, mode and time, in this order: each undoes a part of the next."""
    if os.geteuid() == 0:
        os.chown(path, member.uid, member.gid, follow_symlinks=False)
    if not member.issym():
        path.chmod(member.mode)
    seconds, _, nanoseconds = str(member.pax_headers["mtime"]).partition(".")
    modified = int(seconds) * 10**9 + int(nanoseconds)
    os.utime(path, ns=(modified, modified), follow_symlinks=False)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def _path_of(name: str, folders: Folders) -> Path:
    top, _, rest = name.partition("/")
    return folders[top] / rest
