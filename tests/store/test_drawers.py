import asyncio

from pitstop.store.sql.store import SqlStore


async def test_secrets_are_kept_sealed_and_listed_by_name_and_scope(store: SqlStore) -> None:
    await store.put_secret("b", "server", b"\x00sealed", ["web", "*"])
    await store.put_secret("a", "repo:web", b"other")
    await store.put_secret("a", "server", b"older", ["web"])
    await store.put_secret("a", "server", b"newer")

    kept = [(each.name, each.scope, each.repos, each.sealed) for each in await store.secrets()]
    assert kept == [
        ("a", "repo:web", (), b"other"),
        ("a", "server", (), b"newer"),
        ("b", "server", ("web", "*"), b"\x00sealed"),
    ]
    assert await store.delete_secret("a", "server")
    assert not await store.delete_secret("a", "server")
    assert [(each.name, each.scope) for each in await store.secrets()] == [("a", "repo:web"), ("b", "server")]


async def test_tokens_are_stored_as_hashes(store: SqlStore) -> None:
    await store.put_token("laptop", "operator", b"hash")

    (found,) = await store.tokens()
    assert (found.name, found.role, found.hash) == ("laptop", "operator", b"hash")
    assert await store.delete_token("laptop")
    assert not await store.delete_token("laptop")
    assert await store.tokens() == ()


async def test_what_was_done_is_told_newest_first_and_in_pages(store: SqlStore) -> None:
    for number in range(5):
        await store.add_audit([(float(number), "ann", "resume", "run-1" if number % 2 else None, {"stop": number})])

    first = await store.audit(limit=3)
    assert [entry.detail["stop"] for entry in first] == [4, 3, 2]
    rest = await store.audit(before=first[-1].id)
    assert [entry.detail["stop"] for entry in rest] == [1, 0]
    assert {entry.run for entry in await store.audit("run-1")} == {"run-1"}
    assert (first[0].who, first[0].action) == ("ann", "resume")
    assert first[0].at >= rest[-1].at


async def test_the_last_answer_to_a_request_is_remembered_for_whoever_asked(store: SqlStore) -> None:
    await store.remember("key", "ann", b"hash", b"reserved")
    await store.remember("key", "ann", b"hash", b"answered")
    await store.remember("key", "bob", b"hash", b"his")
    await store.remember("other", "bob", b"hash", b"refused")
    await store.forget_answer("other", "bob")

    hers, his = await store.recall("key", "ann"), await store.recall("key", "bob")
    assert hers is not None
    assert (hers.request_hash, hers.response) == (b"hash", b"answered")
    assert his is not None
    assert his.response == b"his"
    assert await store.recall("other", "bob") is None


async def test_settings_of_the_server_are_any_values(store: SqlStore) -> None:
    assert await store.read_setting("limits") is None
    await store.write_setting("limits", {"runs": 3, "names": ["a\x00b"]})
    await store.write_setting("limits", {"runs": 4, "names": ["\ud800"]})

    assert await store.read_setting("limits") == {"runs": 4, "names": ["\ud800"]}


async def test_of_two_who_settle_a_setting_both_get_the_one_that_was_first(store: SqlStore) -> None:
    got = await asyncio.gather(*(store.settle_setting("key", number) for number in range(5)))

    assert len(set(got)) == 1
    assert await store.settle_setting("key", "later") == got[0]


async def test_settings_are_found_by_how_their_names_begin(store: SqlStore) -> None:
    for name in ("over:a", "over:b_%", "overall", "OVER:c"):
        await store.write_setting(name, name.upper())

    assert await store.settings_under("over:") == {"a": "OVER:A", "b_%": "OVER:B_%"}
    assert await store.delete_setting("over:a")
    assert not await store.delete_setting("over:a")
    assert await store.settings_under("over:") == {"b_%": "OVER:B_%"}


async def test_an_answer_is_reserved_by_the_first_who_comes(store: SqlStore) -> None:
    for response in (b"first", b"second"):
        await store.reserve_answer("key", "ann", b"hash", response)

    kept = await store.recall("key", "ann")
    assert kept is not None
    assert kept.response == b"first"
