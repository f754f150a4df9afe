"""The desk of secrets, and every place where it stores them."""

import pytest

from pitstop.errors import BadSecret, NotPermitted, Unknown
from pitstop.service.caller import LOCAL, Caller
from pitstop.service.in_memory import MemorySecrets, new_seal
from pitstop.service.secrets import Secrets, SecretStore
from pitstop.service.stored.secrets import StoredSecrets
from pitstop.store.sql.store import SqlStore
from tests.databases import postgres, postgres_url, sqlite_url
from tests.service.stores import store

__all__ = ["postgres", "postgres_url", "sqlite_url", "store"]

VIEWER = Caller("guest", "viewer")


@pytest.fixture
def secret_store(store: SqlStore | None) -> SecretStore:
    return MemorySecrets() if store is None else StoredSecrets(store.database)


@pytest.fixture
def secrets(secret_store: SecretStore) -> Secrets:
    return Secrets(secret_store, new_seal())


async def test_secrets_are_stored_sealed_and_listed_by_name_and_scope(secret_store: SecretStore) -> None:
    await secret_store.put("b", "server", b"\x00sealed", ["web", "*"])
    await secret_store.put("a", "repo:web", b"other", [])
    await secret_store.put("a", "server", b"older", ["web"])
    await secret_store.put("a", "server", b"newer", [])

    stored = [(each.name, each.scope, each.repos, each.sealed) for each in await secret_store.all()]
    assert stored == [
        ("a", "repo:web", (), b"other"),
        ("a", "server", (), b"newer"),
        ("b", "server", ("web", "*"), b"\x00sealed"),
    ]
    assert await secret_store.delete("a", "server")
    assert not await secret_store.delete("a", "server")
    assert [(each.name, each.scope) for each in await secret_store.all()] == [("a", "repo:web"), ("b", "server")]


async def test_a_run_gets_the_values_that_it_names_and_may_have(secrets: Secrets, secret_store: SecretStore) -> None:
    await secrets.put(LOCAL, "KEY", "server", "of-the-server", [])
    await secrets.put(LOCAL, "KEY", "flow::ci", "of-the-flow", [])
    await secrets.put(LOCAL, "OTHER", "server", "not-named", [])

    assert await secrets.values_for(None, "ci", ["KEY"]) == {"KEY": "of-the-flow"}
    assert await secrets.values_for(None, None, ["KEY", "NONE"]) == {"KEY": "of-the-server"}
    assert await secrets.values_for("web", None, ["KEY"]) == {}
    assert await secrets.names() == {"KEY", "OTHER"}
    assert not any(b"of-the" in each.sealed for each in await secret_store.all())


async def test_what_cannot_be_stored_is_refused_by_the_desk(secrets: Secrets) -> None:
    with pytest.raises(BadSecret):
        await secrets.put(LOCAL, "A-KEY", "server", "value", [])
    with pytest.raises(BadSecret):
        await secrets.put(LOCAL, "KEY", "server", "", [])
    with pytest.raises(BadSecret):
        await secrets.delete(LOCAL, "KEY", "nowhere")
    with pytest.raises(Unknown):
        await secrets.delete(LOCAL, "KEY", "server")
    assert await secrets.all(LOCAL) == ()


async def test_a_viewer_manages_no_secrets(secrets: Secrets) -> None:
    await secrets.put(LOCAL, "KEY", "server", "value", [])

    with pytest.raises(NotPermitted):
        await secrets.all(VIEWER)
    with pytest.raises(NotPermitted):
        await secrets.put(VIEWER, "KEY", "server", "other", [])
    with pytest.raises(NotPermitted):
        await secrets.delete(VIEWER, "KEY", "server")
    assert await secrets.values_for(None, None, ["KEY"]) == {"KEY": "value"}
