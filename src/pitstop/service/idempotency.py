"""Idempotency: a call that is repeated with the same key is answered as it was the first time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol
from weakref import WeakValueDictionary

from msgspec import Struct

from pitstop.errors import BadRequest, KeyReused, PitstopError
from pitstop.runs.run_ids import new_run_id
from pitstop.service.caller import Caller

LONGEST_KEY = 200
REMEMBERED_SECONDS = 86_400.0  # clients that repeat a request do so sooner
RESERVED = 0  # in place of a status: `body` is the id of a run that is about to be made


class Answer(Struct, frozen=True):
    """An answer and the digest of its request. `status` and `headers` are those of the door."""

    request: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class Answers(Protocol):
    """Where answers are stored, by key."""

    async def recall(self, key: str) -> Answer | None: ...

    async def reserve(self, key: str, answer: Answer) -> Answer:
        """Store it unless one is stored, also by another server; the one that is stored then."""
        ...

    async def remember(self, key: str, answer: Answer) -> None:
        """Store it in place of the one that is stored."""
        ...

    async def forget(self, key: str) -> None: ...


Act = Callable[[str | None], Awaitable[Answer]]  # takes the id of the run to make, if one was reserved


class Idempotency:
    """Acts once on each key of a caller."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # of the calls under way

    async def answer(self, caller: Caller, request: str, act: Act, *, makes_run: bool = False) -> Answer:
        """The answer of `act`, or the stored one of the caller's key; KeyReused if that was for another request.

        Concurrent calls with one key wait for each other. With `makes_run` an id is stored before the run is made: a
        call that is repeated after a crash finds the same run.
        """
        key = caller.key or ""
        if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
            raise BadRequest(f"an Idempotency-Key must have 1 to {LONGEST_KEY} printable characters")
        whole_key = f"{caller.name} {key}"
        async with self._locks.setdefault(whole_key, asyncio.Lock()):
            known = await self._known(whole_key, request, makes_run)
            if known is not None and known.request != request:
                raise KeyReused(key)
            if known is not None and known.status != RESERVED:
                return known
            return await self._act(whole_key, act, None if known is None else known.body.decode())

    async def _known(self, whole_key: str, request: str, makes_run: bool) -> Answer | None:
        known = await self._answers.recall(whole_key)
        if known is None and makes_run:
            reserved = Answer(request, RESERVED, {}, new_run_id().encode())
            known = await self._answers.reserve(whole_key, reserved)
        return known

    async def _act(self, whole_key: str, act: Act, run_id: str | None) -> Answer:
        try:
            answer = await act(run_id)
        except PitstopError:
            if run_id is not None:
                await self._answers.forget(whole_key)  # it was refused, so the key may come with another request
            raise
        await self._answers.remember(whole_key, answer)
        return answer
