"""A call that is repeated with its key, and every place where answers are stored."""

import asyncio

import pytest
from sqlalchemy import update

from pitstop.errors import BadRequest, CommandRefused, KeyReused
from pitstop.service.caller import Caller
from pitstop.service.idempotency import Answer, Answers, Idempotency
from pitstop.service.in_memory import MemoryAnswers
from pitstop.service.stored.answers import StoredAnswers, idempotency
from pitstop.store.sql.store import SqlStore, open_sql_store
from tests.databases import database_url, postgres, postgres_url, sqlite_url
from tests.service.stores import store

__all__ = ["database_url", "postgres", "postgres_url", "sqlite_url", "store"]

ANN = Caller("ann", "operator", "key")


@pytest.fixture
def answers(store: SqlStore | None) -> Answers:
    return MemoryAnswers() if store is None else StoredAnswers(store.database)


def said(body: bytes, request: str = "digest") -> Answer:
    return Answer(request, 201, {"location": "/x"}, body)


class Deeds:
    """An act that counts, and notes the ids of runs that it was given."""

    def __init__(self) -> None:
        self.run_ids: list[str | None] = []

    async def act(self, run_id: str | None) -> Answer:
        self.run_ids.append(run_id)
        await asyncio.sleep(0)  # other calls may come meanwhile
        return said(b"%d" % len(self.run_ids))


async def test_the_last_answer_to_a_key_is_remembered(answers: Answers) -> None:
    await answers.remember("key", said(b"reserved"))
    await answers.remember("key", said(b"\xffanswered"))
    await answers.remember("other", said(b"refused"))
    await answers.forget("other")

    assert await answers.recall("key") == said(b"\xffanswered")
    assert await answers.recall("other") is None


async def test_the_first_reservation_of_a_key_wins(answers: Answers) -> None:
    first = await answers.reserve("key", said(b"first"))
    second = await answers.reserve("key", said(b"second"))

    assert first == second == await answers.recall("key") == said(b"first")


async def test_concurrent_calls_with_one_key_act_once(answers: Answers) -> None:
    once, deeds = Idempotency(answers), Deeds()
    got = await asyncio.gather(*(once.answer(ANN, "digest", deeds.act) for _ in range(4)))

    assert got == [said(b"1")] * 4
    assert deeds.run_ids == [None]


async def test_another_request_with_the_same_key_is_refused(answers: Answers) -> None:
    once, deeds = Idempotency(answers), Deeds()
    await once.answer(ANN, "digest", deeds.act)

    with pytest.raises(KeyReused):
        await once.answer(ANN, "another", deeds.act)
    assert await once.answer(Caller("bob", "operator", "key"), "another", deeds.act) == said(b"2")


@pytest.mark.parametrize("key", [None, "", "k" * 201, "a\nb"])
async def test_an_invalid_key_is_refused(key: str | None) -> None:
    with pytest.raises(BadRequest):
        await Idempotency(MemoryAnswers()).answer(Caller("ann", "operator", key), "digest", Deeds().act)


async def test_a_call_that_is_repeated_after_a_crash_gets_the_id_of_the_first(answers: Answers) -> None:
    given: list[str | None] = []

    async def crash(run_id: str | None) -> Answer:
        given.append(run_id)
        known = await answers.recall("ann key")
        assert known is not None
        assert known.body.decode() == run_id  # it is stored before anything is made
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await Idempotency(answers).answer(ANN, "digest", crash, makes_run=True)
    deeds = Deeds()
    await Idempotency(answers).answer(ANN, "digest", deeds.act, makes_run=True)

    assert given[0] is not None
    assert deeds.run_ids == given


async def test_the_key_of_a_refused_call_may_come_with_another_request(answers: Answers) -> None:
    async def refuse(run_id: str | None) -> Answer:
        raise CommandRefused("not now")

    once, deeds = Idempotency(answers), Deeds()
    for makes_run in (True, False):
        with pytest.raises(CommandRefused):
            await once.answer(ANN, "digest", refuse, makes_run=makes_run)

    assert await once.answer(ANN, "another", deeds.act, makes_run=True) == said(b"1")


async def test_answers_are_forgotten_after_a_day(database_url: str) -> None:
    store = await open_sql_store(database_url)
    answers = StoredAnswers(store.database)
    for key in ("old", "new"):
        await answers.remember(key, said(b""))
    async with store.database.write() as connection:
        a_day_ago = update(idempotency).where(idempotency.c.key == "old")
        await connection.execute(a_day_ago.values(created_at=idempotency.c.created_at - 86_401.0))

    assert await answers.forget_old() == 1
    assert await answers.recall("old") is None
    assert await answers.recall("new") is not None
    await store.close()
