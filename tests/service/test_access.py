"""Callers and their tokens, wherever these are stored."""

from pathlib import Path

import pytest

from pitstop.errors import NotPermitted
from pitstop.service.access import OWNER, TokenAccess, TokenRecord, TokenStore, digest_of
from pitstop.service.caller import LOCAL, Caller
from pitstop.service.sealing import Seal, new_seal
from pitstop.service.stored.tokens import StoredTokens
from pitstop.service.token_files import TokenFiles
from pitstop.store.sql.store import SqlStore
from tests.databases import postgres, postgres_url, sqlite_url
from tests.service.stores import store

__all__ = ["postgres", "postgres_url", "sqlite_url", "store"]

VIEWER = Caller("guest", "viewer")


@pytest.fixture
def seal() -> Seal:
    return new_seal()


def open_tokens(store: SqlStore | None, seal: Seal, folder: Path) -> TokenStore:
    return TokenFiles(folder / "token") if store is None else StoredTokens(store.database, seal, folder / "token")


@pytest.fixture
def tokens(store: SqlStore | None, seal: Seal, tmp_path: Path) -> TokenStore:
    return open_tokens(store, seal, tmp_path)


async def test_tokens_are_stored_as_digests_beside_that_of_the_owner(tokens: TokenStore) -> None:
    await tokens.add(TokenRecord("laptop", "viewer", digest_of("x"), 1.0))

    owner, laptop = await tokens.all()
    assert (owner.name, owner.role) == (OWNER, "operator")
    assert (laptop.name, laptop.role, laptop.digest) == ("laptop", "viewer", digest_of("x"))
    await tokens.remove("laptop")
    await tokens.remove(OWNER)
    (renewed,) = await tokens.all()
    assert (renewed.name, renewed.digest == owner.digest) == (OWNER, False)


async def test_sessions_and_their_key_outlive_the_server(
    store: SqlStore | None, seal: Seal, tokens: TokenStore, tmp_path: Path
) -> None:
    key = await tokens.session_key()
    for session, until in (("over", 1.0), ("later", 1e12), ("LATER", 1e12)):
        await tokens.log_out(session, until)

    again = open_tokens(store, seal, tmp_path)
    assert await again.session_key() == key
    assert await again.logged_out() == {"later", "LATER"}


async def test_a_caller_is_known_by_a_token_or_a_session(tokens: TokenStore) -> None:
    access = TokenAccess(tokens)
    made = await access.add_token(LOCAL, "laptop", "viewer")
    session = await access.login(access.new_login_code("laptop"))

    assert await access.who(bearer=made.token, key="k") == Caller("laptop", "viewer", "k")
    assert await access.who(session=session) == Caller("laptop", "viewer")
    assert await access.who(bearer="wrong") is None
    assert await access.who() is None
    await access.remove_token(LOCAL, "laptop")
    assert await access.who(bearer=made.token) is None
    assert await access.who(session=session) is None


async def test_a_viewer_manages_no_tokens(tmp_path: Path) -> None:
    access = TokenAccess(TokenFiles(tmp_path / "token"))

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
