"""How a server with a database is doing."""

from pitstop.errors import PitstopError
from pitstop.service.operations import Figures
from pitstop.service.server import ServerService
from pitstop.store.sql.store import SqlStore


class ServerOperations:
    """The Operations of a server."""

    def __init__(self, service: ServerService, store: SqlStore) -> None:
        self._service = service
        self._store = store

    async def figures(self) -> Figures:
        service = self._service
        return Figures(
            runs=await self._store.count_runs(),
            waiting=service.slots.waiting,
            slots=service.slots.slots,
            slots_taken=service.slots.working,
            stops=service.waiting_stops,
            events=service.events_appended,
        )

    async def trouble(self) -> str | None:
        if not self._service.is_ready:
            return "the server is starting or shutting down"
        try:
            await self._store.servers()
        except PitstopError as error:
            return f"the database does not answer: {error}"
        return None
