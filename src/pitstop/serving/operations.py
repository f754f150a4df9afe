"""How a server with a database is doing."""

from pitstop.errors import PitstopError
from pitstop.runs.server_runs import ServerRuns
from pitstop.service.operations import Figures
from pitstop.store.sql.store import SqlStore


class ServerOperations:
    """The Operations of a server."""

    def __init__(self, runs: ServerRuns, store: SqlStore) -> None:
        self._runs = runs
        self._store = store

    async def figures(self) -> Figures:
        runs = self._runs
        return Figures(
            runs=await self._store.count_runs(),
            waiting=runs.slots.waiting,
            slots=runs.slots.slots,
            slots_taken=runs.slots.working,
            stops=runs.waiting_stops,
            events=runs.events_appended,
        )

    async def trouble(self) -> str | None:
        if not self._runs.is_ready:
            return "the server is starting or shutting down"
        try:
            await self._store.servers()
        except PitstopError as error:
            return f"the database does not answer: {error}"
        return None
