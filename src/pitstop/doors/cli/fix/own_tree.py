"""The user's own files as a commit, and what a fix loop made of them, applied."""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from pitstop.errors import CommandRefused, GitProblem
from pitstop.settings import read_settings

IDENTITY = {
    "GIT_AUTHOR_NAME": "Pitstop",
    "GIT_AUTHOR_EMAIL": "pitstop@localhost",
    "GIT_COMMITTER_NAME": "Pitstop",
    "GIT_COMMITTER_EMAIL": "pitstop@localhost",
}
DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
SHOWN_IGNORED = 5


class OwnTree(Struct, frozen=True):
    """The files of a folder as a commit, which neither a branch nor the index knows. `source` has the repository.

    `base` is the commit to compare with, and `ignored` names what git ignores, so that it is in no commit.
    """

    folder: Path
    source: Path
    commit: str
    base: str | None
    ignored: tuple[str, ...] = ()

    @property
    def has_git(self) -> bool:
        return self.source == self.folder

    def is_unchanged(self) -> bool:
        """Whether the files are still those of the commit."""
        return _tree_of(self.folder, self.source) == self._git("rev-parse", f"{self.commit}^{{tree}}")

    def fetch(self, bundle: bytes, branch: str) -> bool:
        """Store the commits of a loop on a branch of the repository."""
        with tempfile.NamedTemporaryFile(suffix=".bundle") as file:
            file.write(bundle)
            file.flush()
            ref = f"refs/heads/{branch}"
            try:
                self._git("fetch", "-q", "--no-tags", file.name, f"+{ref}:{ref}")
            except GitProblem:
                return False
        return True

    def apply(self, patch: bytes, *, only: str | None = None) -> None:
        """Change the files as the patch says; GitProblem if it does not fit, and then nothing was changed."""
        limited = ("--include", f"{only}/*") if only is not None else ()
        if patch.strip():
            alone = {"GIT_CEILING_DIRECTORIES": str(self.folder.parent), "GIT_DIR": os.devnull}
            _git(self.folder, "apply", "--whitespace=nowarn", *limited, "-", stdin=patch, env=alone)

    def _git(self, *words: str) -> str:
        return _git(self.source, *words)


def take_tree(folder: Path) -> OwnTree:
    """Commit the files as they are, uncommitted and untracked ones included; CommandRefused without git."""
    try:
        return _take_tree(folder)
    except GitProblem as error:
        raise CommandRefused(
            f"cannot copy {folder}: {error.reason}; `--in-place` works in the folder itself"
        ) from error


def tree_again(folder: Path, commit: str) -> OwnTree | None:
    """The tree that was taken as this commit; None if it was another folder's."""
    for source in (folder, _repository_for(folder)):
        if _asks(source, "cat-file", "-e", f"{commit}^{{commit}}") is not None:
            return OwnTree(folder, source, commit, None)
    return None


def _take_tree(folder: Path) -> OwnTree:
    is_ignored = _asks(folder, "check-ignore", "-q", str(folder)) is not None  # by a repository around it
    has_git = not is_ignored and _asks(folder, "rev-parse", "--verify", "-q", "HEAD") is not None
    source = folder if has_git else _repository_for(folder)
    tree = _tree_of(folder, source)
    head = _asks(source, "rev-parse", "--verify", "-q", "HEAD") if has_git else None
    parent = ("-p", head) if head is not None else ()
    commit = _git(source, "commit-tree", tree, *parent, "-m", "the files that the fix loop began with", env=IDENTITY)
    if not has_git:
        _git(source, "update-ref", "refs/heads/files", commit)  # a bundle needs one
    ignored = _git(folder, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory") if has_git else ""
    return OwnTree(folder, source, commit, _base_of(source, head, tree), tuple(ignored.splitlines()))


def _base_of(source: Path, head: str | None, tree: str) -> str | None:
    """Where the branch left the default branch, or its last commit; None if it has the same files."""
    if head is None:
        return None
    default = next((each for each in DEFAULT_BRANCHES if _asks(source, "rev-parse", "--verify", "-q", each)), None)
    base = _asks(source, "merge-base", default, head) if default is not None else head
    return None if base is None or _git(source, "rev-parse", f"{base}^{{tree}}") == tree else base


def _tree_of(folder: Path, source: Path) -> str:
    """The name of the tree of the files, made with an index of its own."""
    with tempfile.TemporaryDirectory(prefix="pitstop-fix-") as scratch:
        index = Path(scratch, "index")
        place = {"GIT_INDEX_FILE": str(index)}
        if source == folder:
            present = Path(folder, _git(folder, "rev-parse", "--git-path", "index"))
            if present.exists():
                index.write_bytes(present.read_bytes())
        else:
            place |= {"GIT_DIR": str(source / ".git"), "GIT_WORK_TREE": str(folder)}
        _git(folder, "add", "-A", env=place)
        return _git(folder, "write-tree", env=place)


def _repository_for(folder: Path) -> Path:
    """A repository for a folder that has none, in the state folder."""
    name = blake2b(str(folder).encode(), digest_size=8).hexdigest()
    source = read_settings().home / "fix" / name
    if not (source / ".git").exists():
        source.mkdir(parents=True, exist_ok=True, mode=0o700)
        _git(source, "init", "-q")
    return source


def _git(folder: Path, *words: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> str:
    try:
        done = subprocess.run(
            ("git", "-C", str(folder), *words),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
            env={**os.environ, **(env or {})},
        )
    except OSError as error:
        raise GitProblem.of_start(words[0], error) from error
    if done.returncode != 0:
        raise GitProblem(words[0], done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}")
    return done.stdout.decode(errors="surrogateescape").removesuffix("\n")


def _asks(folder: Path, *words: str) -> str | None:
    try:
        return _git(folder, *words)
    except GitProblem:
        return None
