"""Who is at the other end: how it counts and writes paths, what it understands, and what it must not be told."""

from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from pitstop.doors.dap.protocol.arguments import InitializeArguments


class Quirks(NamedTuple):
    """What a client cannot bear, although the protocol allows it."""

    hears_threads: bool = True
    steps_single_threads: bool = True


NO_QUIRKS = Quirks()
QUIRKS = {
    # Helix makes the thread of the last `thread` event, dead or alive, its current one, and is then stuck with it.
    "hx": Quirks(hears_threads=False),
    "helix": Quirks(hears_threads=False),
    # Zed moves only one thread, always, where that is possible: a join would then wait for ever.
    "zed": Quirks(steps_single_threads=False),
}


class Client(Struct, frozen=True):
    """What a client said of itself. Here lines and columns count from 1, and a path is a path."""

    id: str = ""
    first_line: int = 1
    first_column: int = 1
    writes_uris: bool = False
    shows_types: bool = False
    shows_progress: bool = False
    hears_invalidated: bool = False
    shows_colours: bool = False
    opens_terminals: bool = False
    quirks: Quirks = NO_QUIRKS

    def line_out(self, line: int) -> int:
        return line - 1 + self.first_line

    def line_in(self, line: int) -> int:
        return line + 1 - self.first_line

    def column_out(self, column: int) -> int:
        return column - 1 + self.first_column

    def column_in(self, column: int) -> int:
        return column + 1 - self.first_column

    def path_out(self, path: str) -> str:
        return Path(path).as_uri() if self.writes_uris else path

    def path_in(self, path: str) -> str:
        if path.startswith("file:"):
            return unquote(urlsplit(path).path)
        return path


def read_client(arguments: InitializeArguments) -> Client:
    client_id = arguments.client_id or ""
    return Client(
        id=client_id,
        first_line=0 if arguments.lines_start_at1 is False else 1,
        first_column=0 if arguments.columns_start_at1 is False else 1,
        writes_uris=arguments.path_format == "uri",
        shows_types=bool(arguments.supports_variable_type),
        shows_progress=bool(arguments.supports_progress_reporting),
        hears_invalidated=bool(arguments.supports_invalidated_event),
        shows_colours=bool(arguments.supports_ansi_styling),
        opens_terminals=bool(arguments.supports_run_in_terminal_request),
        quirks=QUIRKS.get(client_id.lower(), NO_QUIRKS),
    )
