"""Worker slots: how many at once, and whose turn it is."""

import asyncio
from collections.abc import Callable

import pytest

from pitstop.runs.slots import Slots, Waiting, next_of


def test_the_highest_priority_is_next_then_the_flow_with_the_fewest_at_work_then_who_came_first() -> None:
    first, second, urgent = Waiting("a", 0, 1), Waiting("b", 0, 2), Waiting("a", 5, 3)

    assert next_of([first, second, urgent], {}) == urgent
    assert next_of([first, second], {"a": 2}) == second
    assert next_of([first, second], {}) == first
    assert next_of([], {}) is None


async def test_no_more_than_its_slots_work_at_once() -> None:
    slots, at_work, most = Slots(2), 0, 0

    async def work() -> None:
        nonlocal at_work, most
        async with slots.taken("flow"):
            at_work += 1
            most = max(most, at_work)
            await asyncio.sleep(0)
            at_work -= 1

    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(work())

    assert most == 2
    assert (slots.working, slots.waiting) == (0, 0)


async def test_a_flow_with_many_runs_does_not_keep_another_from_its_turn() -> None:
    slots, order = Slots(2), list[str]()

    async def work(flow: str) -> None:
        async with slots.taken(flow):
            order.append(flow)

    async with asyncio.TaskGroup() as group, slots.taken("many"):
        async with slots.taken("many"):
            for flow in ("many", "many", "few"):
                group.create_task(work(flow))
            await _until(lambda: slots.waiting == 3)
        await _until(lambda: len(order) == 3)

    assert order[0] == "few"


async def test_a_run_that_stands_still_lets_another_work_and_goes_on_without_waiting() -> None:
    slots = Slots(1)
    async with slots.taken("paused") as slot:
        slot.give_back()
        async with slots.taken("other"):
            slot.take_again()
            assert slots.working == 2
        assert slots.working == 1
    assert slots.working == 0


async def test_a_run_that_is_cancelled_while_it_waits_takes_no_slot() -> None:
    slots = Slots(1)
    async with asyncio.TaskGroup() as group, slots.taken("first"):
        waiting = group.create_task(_take(slots))
        await _until(lambda: slots.waiting == 1)
        waiting.cancel()
        await _until(waiting.done)

    assert (slots.working, slots.waiting) == (0, 0)


async def test_a_run_that_is_cancelled_just_as_its_turn_comes_gives_the_slot_on() -> None:
    slots = Slots(1)
    async with asyncio.TaskGroup() as group:
        async with slots.taken("first"):
            waiting = group.create_task(_take(slots))
            await _until(lambda: slots.waiting == 1)
        assert slots.working == 1  # the slot is its own by now, and it does not know yet
        waiting.cancel()

    assert slots.working == 0


async def test_a_run_that_was_cancelled_just_before_its_turn_holds_up_nobody_behind_it() -> None:
    slots = Slots(1)
    async with asyncio.TaskGroup() as group:
        async with slots.taken("first"):
            waiting = [group.create_task(_take(slots)) for _ in range(2)]
            await _until(lambda: slots.waiting == 2)
            waiting[0].cancel()  # it does not know yet
        await _until(waiting[1].done)

    assert (slots.working, slots.waiting) == (0, 0)


async def _take(slots: Slots, run: str = "") -> None:
    async with slots.taken("second", run=run):
        pass


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0)


async def test_a_run_that_has_only_to_end_is_let_in_before_its_turn() -> None:
    slots = Slots(1)
    async with asyncio.TaskGroup() as group, slots.taken("first"):
        waiting = group.create_task(_take(slots, run="second"))
        await _until(lambda: slots.waiting == 1)
        slots.let_in("second")
        await _until(waiting.done)
        assert (slots.working, slots.waiting) == (1, 0)


def test_a_server_without_slots_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        Slots(0)
