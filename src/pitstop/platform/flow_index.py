"""The flows of a commit: which files there are, what starts them, and what is wrong with them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from errno import EFBIG, EIO, ENOENT
from posixpath import normpath
from typing import Any

import msgspec

from pitstop.engine.ports import Evaluator
from pitstop.errors import BadFlow, GitProblem, Mistake, UnknownPath
from pitstop.git.contents import TreeEntry
from pitstop.git.reading import RepositoryReader
from pitstop.limits import FLOW_BYTES, too_large
from pitstop.platform.repo_values import IndexedFlow
from pitstop.runs.file_texts import ReadFile
from pitstop.runs.flow_files import FlowFiles
from pitstop.runs.stored_flows import FLOW_ENDINGS, FLOW_FOLDER

FOLDER = FLOW_FOLDER.as_posix()
MOST_FLOWS = 200
LONGEST_FLOW_BYTES = 1024 * 1024
LISTED_FILES = 2_000  # of the folder of flows
KNOWN_FOLDERS = 100
READ_SECONDS = 30.0


class FlowIndex:
    """Reads the flows of commits. A folder of flows that was read before, and calls nothing outside, is known."""

    def __init__(self, files: FlowFiles, new_evaluator: Callable[[], Evaluator]) -> None:
        self._files = files
        self._new_evaluator = new_evaluator
        self._known: dict[str, tuple[IndexedFlow, ...]] = {}  # by the hash of the folder

    async def flows(self, reader: RepositoryReader, sha: str) -> tuple[IndexedFlow, ...]:
        """The flows at a commit, by name. Those with mistakes have them."""
        try:
            folder = await reader.find(sha, FOLDER)
        except UnknownPath:
            return ()
        if folder.kind != "folder":
            return (_refused(FOLDER, "flows", folder.sha, f"{FOLDER} must be a folder, not a file or a link"),)
        if folder.sha in self._known:
            return self._known[folder.sha]
        listed = await reader.files_in(sha, FOLDER, limit=LISTED_FILES)
        found, is_closed = await self._read_all(reader, sha, listed)
        if is_closed:
            self._known[folder.sha] = found
            if len(self._known) > KNOWN_FOLDERS:
                del self._known[next(iter(self._known))]
        return found

    async def _read_all(
        self, reader: RepositoryReader, sha: str, listed: Sequence[TreeEntry]
    ) -> tuple[tuple[IndexedFlow, ...], bool]:
        """The flows among the files, and whether they are made of files of the folder alone."""
        entries = sorted((each for each in listed if each.path.endswith(FLOW_ENDINGS)), key=lambda each: each.path)
        names: dict[str, list[str]] = {}
        for each in entries:
            names.setdefault(flow_name(each.path), []).append(each.path)
        read, evaluator = reader_of(reader, sha), self._new_evaluator()
        found, is_closed = [], True
        try:
            for each in entries[:MOST_FLOWS]:
                problem = _problem_of(each, names[flow_name(each.path)])
                if problem is not None:
                    found.append(_refused(each.path, flow_name(each.path), each.sha, problem))
                    continue
                flow, texts = await self._read(each, read, evaluator)
                is_closed = is_closed and all(text.startswith(f"{FOLDER}/") for text in texts)
                found.append(flow)
        finally:
            await evaluator.close()
        if len(entries) > MOST_FLOWS:
            first = entries[MOST_FLOWS]
            many = f"there are {len(entries):,} flow files, but only the first {MOST_FLOWS} are read: remove some"
            found.append(_refused(first.path, flow_name(first.path), first.sha, many))
        return tuple(found), is_closed

    async def _read(self, entry: TreeEntry, read: ReadFile, evaluator: Evaluator) -> tuple[IndexedFlow, Sequence[str]]:
        """One flow, and the files that it was read from."""
        name = flow_name(entry.path)
        try:
            planned = await self._files.check_at(entry.path, evaluator, read)
        except BadFlow as error:
            texts = sorted({mistake.file for mistake in error.found})
            broken = IndexedFlow(name=name, path=entry.path, blob=entry.sha, title=name, problems=error.found[:20])
            return broken, texts if _is_about_itself(error, entry.path) else ["/"]
        flow = planned.flow
        triggers: Mapping[str, Any] = msgspec.to_builtins(dict(flow.on))
        indexed = IndexedFlow(name=name, path=entry.path, blob=entry.sha, title=flow.name, triggers=triggers)
        return indexed, list(planned.texts)


def flow_name(path: str) -> str:
    """The name of the flow in a file: its path below the folder of flows, without the ending."""
    return path.removeprefix(f"{FOLDER}/").rpartition(".")[0]


def flow_paths(name: str) -> tuple[str, ...]:
    """The files that a flow with this name can be in."""
    return tuple(f"{FOLDER}/{name}{ending}" for ending in FLOW_ENDINGS)


def reader_of(reader: RepositoryReader, sha: str) -> ReadFile:
    """What reads files of a commit by their paths, in a thread while the loop goes on; OSError."""
    loop = asyncio.get_running_loop()

    def read(path: str) -> bytes:
        inside = normpath(path)
        if inside.startswith(("../", "/")):
            raise FileNotFoundError(ENOENT, "it is outside the repository", path)
        asked = asyncio.run_coroutine_threadsafe(reader.blob(f"{sha}:{inside}", FLOW_BYTES + 1), loop)
        try:
            data = asked.result(READ_SECONDS)
        except UnknownPath as error:
            raise FileNotFoundError(ENOENT, f"it is not in commit {sha[:12]}", path) from error
        except (GitProblem, TimeoutError) as error:
            raise OSError(EIO, str(error) or "git does not answer", path) from error
        if len(data) > FLOW_BYTES:
            raise OSError(EFBIG, too_large(len(data)), path)
        return data

    return read


def _problem_of(entry: TreeEntry, same_name: Sequence[str]) -> str | None:
    """Why a file is not read as a flow, if that is so."""
    if entry.kind != "file":
        return f"it is a {'symbolic link' if entry.kind == 'link' else entry.kind}, not a regular file"
    if len(same_name) > 1:
        others = " and ".join(path.removeprefix(f"{FOLDER}/") for path in same_name)
        return f"{others} are the same flow: remove one of the files"
    if (entry.size or 0) > LONGEST_FLOW_BYTES:
        return f"the file has {entry.size:,} bytes, but at most {LONGEST_FLOW_BYTES:,} are allowed: split the flow"
    return None


def _is_about_itself(error: BadFlow, path: str) -> bool:
    """Whether nothing outside the file can repair it: all mistakes are in it, and none names another file."""
    return all(mistake.file == path and "cannot read" not in mistake.message for mistake in error.found)


def _refused(path: str, name: str, blob: str, problem: str) -> IndexedFlow:
    return IndexedFlow(name=name, path=path, blob=blob, title=name, problems=(Mistake(path, 1, 1, problem),))
