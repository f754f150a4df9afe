"""Where the files of another machine are on this one."""

from collections.abc import Iterable
from pathlib import Path, PurePath

from pitstop.doors.dap.protocol.arguments import PathMapping


class PathMappings:
    """Maps paths both ways. Of several roots that fit, the longest counts; a path under none of them stays as it is."""

    def __init__(self, mappings: Iterable[PathMapping] = ()) -> None:
        self._roots = [(Path(each.local_root).absolute(), PurePath(each.remote_root)) for each in mappings]

    def to_local(self, file: str) -> str:
        return _moved(file, [(remote, local) for local, remote in self._roots])

    def to_remote(self, file: str) -> str:
        return _moved(file, [(local, remote) for local, remote in self._roots])


def _moved(file: str, roots: Iterable[tuple[PurePath, PurePath]]) -> str:
    path = PurePath(file)
    fitting = [(root, other) for root, other in roots if path.is_relative_to(root)]
    if not fitting:
        return file
    root, other = max(fitting, key=lambda pair: len(pair[0].parts))
    return str(other / path.relative_to(root))
