"""Flows that can be started by their names: the files in some folders."""

from collections.abc import Sequence
from pathlib import Path

from pitstop.errors import UnknownFlow

ENDINGS = (".yaml", ".yml")


class StoredFlows:
    """The flows in some folders; where two have the same name, the one in the earlier folder."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders

    def files(self) -> dict[str, Path]:
        """Every flow by its name, which is that of its file without the ending."""
        found: dict[str, Path] = {}
        for folder in self._folders:
            for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
                if path.suffix in ENDINGS and path.is_file():
                    found.setdefault(path.relative_to(folder).with_suffix("").as_posix(), path)
        return dict(sorted(found.items()))

    def file(self, name: str) -> Path:
        """UnknownFlow."""
        files = self.files()
        if name not in files:
            raise UnknownFlow(name, f"there is {', '.join(files)}" if files else "no folder with flows has any")
        return files[name]

    def find(self, flow: str) -> Path | None:
        """The file of the stored flow with this name; None for what names a file itself, or nothing that is stored."""
        if Path(flow).suffix in ENDINGS or Path(flow).is_file():
            return None
        return self.files().get(flow)

    def path_of(self, flow: str) -> str:
        """The file that is meant: one that is there, or that of a stored flow with this name."""
        return str(self.find(flow) or flow)


def project_of(file: Path) -> Path:
    """The folder that a stored flow is about: the one it is in, or the one whose `.pitstop` it is in."""
    for folder in file.parents:
        if folder.name == ".pitstop":
            return folder.parent
    return file.parent
