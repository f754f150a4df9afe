"""What a commit contains: its files and folders, and the commits before it, as git prints them."""

import codecs
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from pitstop.git.names import is_text
from pitstop.git.ref_values import RefValue

MOST_PATH_BYTES = 4096
MOST_BODY_CHARACTERS = 100_000
BINARY_WITHIN_BYTES = 8 * 1024
MOST_POINTER_BYTES = 1024
LFS_MARK = b"version https://git-lfs.github.com/spec/"
COMMIT_FORMAT = "%H%x00%P%x00%an%x00%ae%x00%ct%x00%s%x00%b"
_COMMIT_FIELDS = 7

Kind = Literal["file", "folder", "link", "submodule"]
_KINDS: dict[str, Kind] = {"40000": "folder", "120000": "link", "160000": "submodule"}


class CommitEntry(Struct, frozen=True, kw_only=True):
    """A commit in a history; `at` is when it was committed, in seconds since the epoch."""

    sha: str
    subject: str
    body: str
    author: str
    email: str
    at: int
    parents: tuple[str, ...]


class Branch(Struct, frozen=True):
    """A branch, and how many commits it is ahead of and behind the default branch; None if that does not exist."""

    name: str
    commit: RefValue
    ahead: int | None
    behind: int | None


class TreeEntry(Struct, frozen=True, kw_only=True):
    """A file or folder of a commit. Only files and links have a size, in bytes."""

    name: str
    path: str
    kind: Kind
    size: int | None
    sha: str


class Tree(Struct, frozen=True):
    """The entries of a folder; `is_cut` says that there are more."""

    path: str
    entries: tuple[TreeEntry, ...]
    is_cut: bool


class FileContent(Struct, frozen=True, kw_only=True):
    """A file as it can be shown. `size` is that of the whole file; there is no text if it is binary."""

    path: str
    sha: str
    size: int
    text: str | None
    is_binary: bool
    is_cut: bool
    is_lfs: bool


def clean_path(path: str) -> str | None:
    """A path as git writes it, without a slash at its end; None if no file can have it, or git could not be asked."""
    inner = path.removesuffix("/")
    if not inner:
        return "" if not path else None
    if "\n" in inner or "\0" in inner or not is_text(inner) or len(inner.encode()) > MOST_PATH_BYTES:
        return None
    return None if any(part in ("", ".", "..") for part in inner.split("/")) else inner


def kind_of(mode: str) -> Kind:
    return _KINDS.get(mode.lstrip("0"), "file")


def parse_listing(printed: bytes, folder: str) -> Iterator[TreeEntry]:
    """The entries that `git ls-tree -z -l` prints of a folder; one that is not complete is left out."""
    for line in printed.split(b"\0")[:-1]:
        fields, _, raw_path = line.partition(b"\t")
        mode, _, sha, size = fields.decode().split()
        inner = raw_path.decode(errors="replace")
        yield TreeEntry(
            name=inner.rpartition("/")[2],
            path=f"{folder}/{inner}" if folder else inner,
            kind=kind_of(mode),
            size=int(size) if size.isdigit() else None,
            sha=sha,
        )


def find_in_tree(content: bytes, name: str, sha_bytes: int) -> tuple[Kind, str] | None:
    """What a stored tree has under a name: its kind and its sha."""
    wanted, start = name.encode(), 0
    while start < len(content):
        end = content.index(b"\0", start)
        mode, _, found = content[start:end].partition(b" ")
        start = end + 1 + sha_bytes
        if found == wanted:
            return kind_of(mode.decode()), content[end + 1 : start].hex()
    return None


def file_content(entry: TreeEntry, raw: bytes) -> FileContent:
    """What is shown of a file, of which this is the beginning or all."""
    size = entry.size or 0
    is_cut, is_binary = size > len(raw), b"\0" in raw[:BINARY_WITHIN_BYTES]
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return FileContent(
        path=entry.path,
        sha=entry.sha,
        size=size,
        text=None if is_binary else decoder.decode(raw, final=not is_cut),
        is_binary=is_binary,
        is_cut=is_cut,
        is_lfs=size <= MOST_POINTER_BYTES and raw.startswith(LFS_MARK),
    )


def parse_commit(sha: str, raw: bytes) -> CommitEntry:
    """A commit as it is stored."""
    head, _, message = raw.decode(errors="replace").partition("\n\n")
    fields = [line.partition(" ")[::2] for line in head.split("\n")]
    author, _, rest = dict(fields).get("author", "").partition(" <")
    committed = dict(fields).get("committer", "").rpartition("> ")[2].split(" ")[0]
    subject, _, body = message.lstrip("\n").partition("\n\n")
    parents = (value for name, value in fields if name == "parent")
    email = rest.partition(">")[0]
    return _commit_of([sha, " ".join(parents), author, email, committed, " ".join(subject.split("\n")).strip(), body])


def parse_commits(printed: bytes) -> list[CommitEntry]:
    """The commits that `git log -z` prints with `COMMIT_FORMAT`; one that is not complete is left out."""
    fields = printed.decode(errors="replace").split("\0")
    starts = range(0, len(fields) - _COMMIT_FIELDS, _COMMIT_FIELDS)
    return [_commit_of(fields[start : start + _COMMIT_FIELDS]) for start in starts]


def _commit_of(fields: list[str]) -> CommitEntry:
    sha, parents, author, email, at, subject, body = fields
    return CommitEntry(
        sha=sha,
        subject=subject,
        body=body.strip("\n")[:MOST_BODY_CHARACTERS],
        author=author,
        email=email,
        at=int(at) if at.isdigit() else 0,
        parents=tuple(parents.split()),
    )
