"""Commits as they are stored, byte by byte: many are read by one process, and one is written as it is given."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from pitstop.git.commands import run_git


class RawCommit(Struct, frozen=True, kw_only=True):
    """A stored commit without its committer and signature; `author` has the name, the email and the date."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: bytes
    encoding: bytes  # of the message; empty for UTF-8
    message: bytes


async def read_commits(folder: Path, names: Sequence[str]) -> list[RawCommit | None]:
    """The commits that these refs or shas mean, in the same order; None for what is not a commit."""
    questions = "".join(f"{name}^{{commit}}\n" for name in names).encode()
    printed = await run_git(folder, "cat-file", "--batch", input=questions)
    return list(parse_batch(printed))


async def store_commit(folder: Path, commit: RawCommit, committer: str) -> str:
    """Store a commit under the sha that follows from its content; `committer` ends with the date."""
    heads = [b"tree " + commit.tree.encode()]
    heads += [b"parent " + parent.encode() for parent in commit.parents]
    heads += [b"author " + commit.author, b"committer " + committer.encode()]
    heads += [b"encoding " + commit.encoding] if commit.encoding else []
    raw = b"\n".join(heads) + b"\n\n" + commit.message
    # Literally: authors of old commits have flaws that git would refuse in a new one
    stored = await run_git(folder, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", input=raw)
    return stored.decode().strip()


def parse_batch(printed: bytes) -> Iterator[RawCommit | None]:
    """The commits that `git cat-file --batch` prints; None for each question that has no commit as its answer."""
    start = 0
    while start < len(printed):
        end = printed.index(b"\n", start)
        words = printed[start:end].decode(errors="replace").split(" ")
        start = end + 1
        if len(words) == 3 and words[1] == "commit":
            size = int(words[2])
            yield parse_raw_commit(words[0], printed[start : start + size])
            start += size + 1
        else:
            yield None


def parse_raw_commit(sha: str, raw: bytes) -> RawCommit:
    head, _, message = raw.partition(b"\n\n")
    fields = [line.partition(b" ")[::2] for line in head.split(b"\n")]
    named = dict(reversed(fields))  # the first of a name counts
    return RawCommit(
        sha=sha,
        tree=named[b"tree"].decode(),
        parents=tuple(value.decode() for name, value in fields if name == b"parent"),
        author=named.get(b"author", b""),
        encoding=named.get(b"encoding", b""),
        message=message,
    )
