"""What clients write in place of arguments that they do not have: all of it means the same."""

from typing import Any

from pitstop.doors.dap.serving import ROUTES
from tests.doors.dap.adapter_client import AdapterClient, Message

LAST = ("initialize", "disconnect")  # one works once, the other ends the session
ABSENT: dict[str, Any] = {}
SPELLINGS: tuple[dict[str, Any], ...] = (
    ABSENT,
    {"arguments": None},
    {"arguments": {}},
    {"arguments": {"unknown": None, "__later": {"a": [1]}}},
)


async def answers(adapter: AdapterClient, command: str, seq: int | None = None) -> list[tuple[bool, str]]:
    """What each spelling is answered with: whether it succeeds, and the message if not."""
    found = []
    for spelling in SPELLINGS:
        response: Message = await adapter.answer_to_raw(command, spelling, seq=seq)
        found.append((response["success"], response.get("message", "")))
    return found


async def test_null_absent_and_empty_arguments_are_the_same_for_every_request(adapter: AdapterClient) -> None:
    assert set(LAST) < set(ROUTES)
    first = await answers(adapter, "initialize")
    assert first == [(True, ""), *[(False, "already initialized")] * 3]
    for command in sorted(set(ROUTES) - set(LAST)):
        found = await answers(adapter, command)

        assert len(set(found)) == 1, (command, found)
        assert "got `null`" not in found[0][1], (command, found)
    assert (await adapter.answer_to_raw("disconnect", {"arguments": None}))["success"]
    assert await adapter.exit_code() == 0


async def test_a_session_of_a_client_that_writes_null_and_counts_from_0(adapter: AdapterClient) -> None:
    """As Helix does."""
    response = await adapter.answer_to_raw("initialize", {"arguments": {"adapterID": "x", "clientID": "hx"}}, seq=0)
    assert response["success"]
    launch = {"program": str(adapter.folder / "shop.yaml"), "stopOnEntry": True}
    assert (await adapter.answer_to_raw("launch", {"arguments": launch}))["success"]
    assert (await adapter.answer_to_raw("configurationDone", {"arguments": None}))["success"]
    await adapter.stopped()
    assert (await adapter.answer_to_raw("threads", {"arguments": None}))["body"]["threads"][0]["id"] == 1
    assert (await adapter.answer_to_raw("disconnect", {"arguments": None}))["success"]
    assert await adapter.exit_code() == 0
