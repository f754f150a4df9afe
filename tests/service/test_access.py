"""Callers and their tokens, wherever these are stored."""

from pathlib import Path

import pytest

from pitstop.errors import NotPermitted
from pitstop.service.access import OWNER, Access, TokenRecord, TokenStore, digest_of
from pitstop.service.caller import LOCAL, Caller
from pitstop.service.in_memory import MemoryTokens, new_seal
from pitstop.service.sealing import Seal
from pitstop.service.stored.tokens import StoredTokens
from pitstop.store.sql.store import SqlStore, open_sql_store
from tests.databases import database_url, postgres, postgres_url, sqlite_url
from tests.service.stores import store

__all__ = ["database_url", "postgres", "postgres_url", "sqlite_url", "store"]

VIEWER = Caller("guest", "viewer")


@pytest.fixture
def seal() -> Seal:
    return new_seal()


@pytest.fixture
def tokens(store: SqlStore | None, seal: Seal, tmp_path: Path) -> TokenStore:
    return MemoryTokens() if store is None else StoredTokens(store.database, seal, tmp_path / "token")


async def test_tokens_are_stored_as_digests_beside_that_of_the_owner(tokens: TokenStore) -> None:
    await tokens.add(TokenRecord("laptop", "viewer", digest_of("x"), 1.0))

    owner, laptop = await tokens.all()
    assert (owner.name, owner.role) == (OWNER, "operator")
    assert (laptop.name, laptop.role, laptop.digest) == ("laptop", "viewer", digest_of("x"))
    await tokens.remove("laptop")
    await tokens.remove(OWNER)
    (renewed,) = await tokens.all()
    assert (renewed.name, renewed.digest == owner.digest) == (OWNER, False)


async def test_the_first_start_makes_a_token_that_only_its_owner_can_read(
    sqlite_url: str, seal: Seal, tmp_path: Path
) -> None:
    store, file = await open_sql_store(sqlite_url), tmp_path / "token"
    (owner,) = await StoredTokens(store.database, seal, file).all()
    (again,) = await StoredTokens(store.database, seal, file).all()
    await store.close()

    token = file.read_text().strip()
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(token) >= 40
    assert owner == again == TokenRecord(OWNER, "operator", digest_of(token), file.stat().st_mtime)


async def test_sessions_and_their_key_outlive_the_server(database_url: str, seal: Seal, tmp_path: Path) -> None:
    store = await open_sql_store(database_url)
    tokens = StoredTokens(store.database, seal, tmp_path / "token")
    key = await tokens.session_key()
    for session, until in (("over", 1.0), ("later", 1e12), ("LATER", 1e12)):
        await tokens.log_out(session, until)

    again = StoredTokens(store.database, seal, tmp_path / "token")
    assert await again.session_key() == key
    assert await again.logged_out() == {"later", "LATER"}
    await store.close()


async def test_a_caller_is_known_by_a_token_or_a_session(tokens: TokenStore) -> None:
    access = Access(tokens)
    made = await access.add_token(LOCAL, "laptop", "viewer")
    session = await access.login(access.new_login_code("laptop"))

    assert await access.who(bearer=made.token, key="k") == Caller("laptop", "viewer", "k")
    assert await access.who(session=session) == Caller("laptop", "viewer")
    assert await access.who(bearer="wrong") is None
    assert await access.who() is None
    await access.remove_token(LOCAL, "laptop")
    assert await access.who(bearer=made.token) is None
    assert await access.who(session=session) is None


async def test_a_viewer_manages_no_tokens() -> None:
    access = Access(MemoryTokens())

    with pytest.raises(NotPermitted):
        await access.tokens(VIEWER)
    with pytest.raises(NotPermitted):
        await access.add_token(VIEWER, "more", "operator")
    with pytest.raises(NotPermitted):
        await access.remove_token(VIEWER, OWNER)


def test_an_operator_may_do_what_a_viewer_may() -> None:
    LOCAL.require("operator")
    LOCAL.require("viewer")
    VIEWER.require("viewer")
    with pytest.raises(NotPermitted):
        VIEWER.require("operator")
