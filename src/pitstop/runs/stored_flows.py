"""Flows that can be started by their names: the files in some folders."""

from collections.abc import Sequence
from pathlib import Path

from pitstop.errors import UnknownFlow

FLOW_FOLDER = Path(".pitstop/flows")
FLOW_ENDINGS = (".yaml", ".yml")


class StoredFlows:
    """The flows in some folders; where two have the same name, the one in the earlier folder."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = folders or (FLOW_FOLDER,)

    def files(self) -> dict[str, Path]:
        """Every flow by its name, which is that of its file without the ending."""
        found: dict[str, Path] = {}
        for folder in self._folders:
            for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
                if path.suffix in FLOW_ENDINGS and path.is_file():
                    found.setdefault(path.relative_to(folder).with_suffix("").as_posix(), path)
        return dict(sorted(found.items()))

    def file(self, name: str) -> Path:
        """UnknownFlow."""
        files = self.files()
        if name not in files:
            raise UnknownFlow(name, f"available: {', '.join(files)}" if files else "no flows are stored")
        return files[name]

    def path_of(self, flow: str) -> str:
        """The file that is meant: one that is there, or that of a stored flow with this name."""
        if Path(flow).suffix in FLOW_ENDINGS or Path(flow).is_file():
            return flow
        return str(self.files().get(flow, flow))

    def holds(self, file: str) -> bool:
        """Whether the file is in one of the folders, wherever links lead to."""
        whole = Path(file).resolve()
        return any(whole.is_relative_to(folder.resolve()) for folder in self._folders)

    def name_of(self, file: str, text: str) -> str | None:
        """The stored flow that is in this file and has this text now; None for any other flow."""
        for name, path in self.files().items():
            if str(path.resolve()) == file and path.read_bytes().decode("utf-8-sig", "replace") == text:
                return name
        return None

    def project_of(self, file: str) -> str | None:
        """The folder a stored flow is about: the one it is in, or whose `.pitstop` it is in. None for another file."""
        if Path(file) not in self.files().values():
            return None
        parents = Path(file).parents
        ours = next((folder.parent for folder in parents if folder.name == ".pitstop"), None)
        return str(ours or parents[0])
