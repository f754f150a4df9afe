"""The desk for debugging, on a server."""

from typing import Any, TypeVar
from urllib.parse import quote

from pitstop.runs.run_request import Request
from pitstop.runs.verb_table import VERB_OF, fields_of
from pitstop.service.caller import Caller
from pitstop.service.remote.connection import Connection

A = TypeVar("A")


class RemoteDebugging:
    """The Debugging of a server: what is said is a request to the place that the table of verbs names."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def say(self, caller: Caller, run: str, request: Request[A]) -> A:
        verb, fields = VERB_OF[type(request)], fields_of(request)
        named = {name: quote(str(fields.pop(name)), safe="") for name in verb.path_fields}
        path = f"/runs/{quote(run, safe='')}/debug/{verb.place.format(**named)}".rstrip("/")
        params, body = (fields, None) if verb.method in ("GET", "DELETE") else ({}, fields)
        content = await self._connection.ask(verb.method, path, body, caller, **params)
        answer: Any = None if verb.answer is None else self._connection.read(content, verb.answer)
        return answer  # type: ignore[no-any-return]
