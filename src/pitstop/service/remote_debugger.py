"""The debugger of a run on a server."""

from typing import Any, TypeVar
from urllib.parse import quote

from pitstop.service.debugging import VERB_OF, Request, fields_of
from pitstop.service.remote_http import Connection

A = TypeVar("A")


class RemoteDebugger:
    """A Debugger: what is said to it is a request to the place that the table of verbs names."""

    def __init__(self, connection: Connection, run: str) -> None:
        self._connection = connection
        self._path = f"/runs/{quote(run, safe='')}/debug"

    async def say(self, request: Request[A]) -> A:
        verb, fields = VERB_OF[type(request)], fields_of(request)
        named = {name: quote(str(fields.pop(name)), safe="") for name in verb.path_fields}
        path = f"{self._path}/{verb.place.format(**named)}".rstrip("/")
        params, body = (fields, None) if verb.method in ("GET", "DELETE") else ({}, fields)
        content = await self._connection.ask(verb.method, path, body, **params)
        answer: Any = None if verb.answer is None else self._connection.read(content, verb.answer)
        return answer  # type: ignore[no-any-return]
