"""What a client is told of files: those on disk by their path, texts that are on no disk of ours by a number."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pitstop.doors.dap.protocol.messages import Breakpoint, GivenSource, Source
from pitstop.doors.dap.session.client import Client
from pitstop.doors.dap.session.path_mappings import PathMappings
from pitstop.doors.dap.session.places import Places
from pitstop.service.flows import StepInfo


class Sources:
    """The files of a run, under the names that the flow gives them. Those of a server may be at another place here."""

    def __init__(self) -> None:
        self.mappings = PathMappings()
        self._texts: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}
        self._is_local = True
        self._numbers: dict[str, int] = {}
        self._files: dict[int, str] = {}

    def take(self, texts: Mapping[str, str], *, is_local: bool) -> None:
        """The files of a run as they were when it was read. Those of a server may be here too, or not."""
        self._texts = dict(texts)
        self._lines.clear()
        self._is_local = is_local

    def forget_lines(self) -> None:
        """A file was written: what is on disk is looked at again."""
        self._lines.clear()
        for file in [*self._texts] if self._is_local else ():
            with suppress(OSError):
                self._texts[file] = Path(file).read_text(encoding="utf-8", errors="replace")

    def tell(self, file: str, client: Client) -> Source:
        name = Path(file).name
        if self._is_on_disk(file):
            return Source(name=name, path=client.path_out(self.path_here(file)))
        if file not in self._numbers:
            self._numbers[file] = len(self._numbers) + 1
            self._files[self._numbers[file]] = file
        return Source(name=name, path=file, source_reference=self._numbers[file], origin="version of the run")

    def path_here(self, file: str) -> str:
        """Where a file of the run is, or would be, on this machine."""
        return str(Path(self.mappings.to_local(file)).absolute())

    def place(self, step: StepInfo, client: Client) -> Breakpoint:
        """A breakpoint at a step, which is where it begins."""
        file = step.file
        if file is None or step.line is None:
            return Breakpoint(verified=True)
        end_line = step.end_line or step.line
        return Breakpoint(
            verified=True,
            source=self.tell(file, client),
            line=client.line_out(step.line),
            column=client.column_out(step.column or 1),
            end_line=client.line_out(end_line),
            end_column=client.column_out(self.end_column(file, end_line)),
        )

    def file_of(self, source: GivenSource, places: Places, client: Client) -> str | None:
        """The file that a client means, as the flow calls it; None when the flow does not have it."""
        if source.source_reference:
            return self._files.get(source.source_reference)
        if source.path is None:
            return None
        path = client.path_in(source.path)
        return places.file_named(self.mappings.to_remote(path)) or places.file_named(path)

    def end_column(self, file: str, line: int) -> int:
        """The column after the last character of a line; what nobody has the text of ends at its first one."""
        if file not in self._lines:
            self._lines[file] = self._text_of(file).split("\n")
        lines = self._lines[file]
        return len(lines[line - 1].rstrip()) + 1 if 0 < line <= len(lines) else 1

    def _text_of(self, file: str) -> str:
        if file in self._texts:
            return self._texts[file]
        try:
            return Path(file).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def text(self, reference: int) -> str | None:
        return self._texts.get(self._files.get(reference, ""))

    def _is_on_disk(self, file: str) -> bool:
        if self._is_local or file not in self._texts:
            return True
        try:
            return Path(self.path_here(file)).read_text(encoding="utf-8") == self._texts[file]
        except (OSError, ValueError):
            return False
