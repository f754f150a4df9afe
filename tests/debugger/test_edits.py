"""What a person may change at a stop, and what the run makes of it."""

import operator
from typing import Any

import pytest

from pitstop.debugger.session import Session
from pitstop.errors import BadEdit, NotAllowed, NothingToUndo, UnknownStep
from pitstop.events.outcome import Status
from pitstop.events.types import OutcomeForced, ScopeEdited, StepInjected
from pitstop.plan.plan import Step
from tests.debugger.bench import Debugged, State, at, debugging, graph, raises, undebugged
from tests.engine.flows import call, fails, flow, give, leaf, matrix, parallel, repeat, retry, sequence

BRANCHES = flow(parallel("p", give("x", "${{ .vars.n }}"), give("y", "${{ .vars.n }}")), give("z", "${{ .vars.n }}"))


def breaking(*steps: str, after: str | None = None, stop_on_error: bool = False) -> Session:
    session = Session(stop_on_error=stop_on_error)
    for step in steps:
        session.add_breakpoint(step)
    if after is not None:
        session.add_breakpoint(after, "after", once=True)
    return session


# --- Setting and unsetting -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (".n", 2, {"n": 2, "list": [1, 2], "deep": {"a": {"b": 1}}}),
        (".new", None, {"n": 1, "list": [1, 2], "deep": {"a": {"b": 1}}, "new": None}),
        (".list[0]", "x", {"n": 1, "list": ["x", 2], "deep": {"a": {"b": 1}}}),
        (".list[-1]", "x", {"n": 1, "list": [1, "x"], "deep": {"a": {"b": 1}}}),
        (".list[3]", "x", {"n": 1, "list": [1, 2, None, "x"], "deep": {"a": {"b": 1}}}),
        (".deep.a.b", [], {"n": 1, "list": [1, 2], "deep": {"a": {"b": []}}}),
        (".deep.c.d", 1, {"n": 1, "list": [1, 2], "deep": {"a": {"b": 1}, "c": {"d": 1}}}),
        ('["n"]', 3, {"n": 3, "list": [1, 2], "deep": {"a": {"b": 1}}}),
    ],
)
async def test_a_value_is_set_at_a_path_at_once(path: str, value: Any, expected: State) -> None:
    path = path if path.startswith(".") else f".{path}"
    async with debugging(graph("a"), {"n": 1, "list": [1, 2], "deep": {"a": {"b": 1}}}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.set(stop, path, value)

        assert stop.scope.as_dict() == expected
        assert await run.session.evaluate(stop, path) == value
        await run.session.continue_(stop)
        assert (await run.end()).state == {**expected, "a": "done"}


async def test_a_value_is_unset_at_once() -> None:
    async with debugging(graph("a"), {"n": 1, "list": [1, 2, 3], "deep": {"a": 1}}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.unset(stop, ".n")
        await run.session.unset(stop, ".list[0]")
        await run.session.unset(stop, ".deep.a")

        assert stop.scope.as_dict() == {"list": [2, 3], "deep": {}}


SHAPES = {"n": 1, "list": [1, 2, 3], "pair": (1, 2), "deep": {"a": {"b": 1}}}


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("set", ".n"),
        ("set", ".new"),
        ("set", ".new.er.still"),
        ("set", ".list[1]"),
        ("set", ".list[-1]"),
        ("set", ".list[6]"),
        ("set", ".pair[0]"),
        ("set", ".deep.a.b"),
        ("set", ".deep.a.c"),
        ("unset", ".n"),
        ("unset", ".list[0]"),
        ("unset", ".list[2]"),
        ("unset", ".deep.a.b"),
        ("unset", ".deep"),
    ],
)
async def test_an_edit_that_is_undone_leaves_everything_as_it_was(verb: str, path: str) -> None:
    async with debugging(graph("a"), SHAPES, breaking("a")) as run:
        stop = await run.stop()
        if verb == "set":
            await run.session.set(stop, path, "edited")
        else:
            await run.session.unset(stop, path)
        assert stop.scope.as_dict() != SHAPES
        await run.session.undo(stop)

        assert stop.scope.as_dict() == SHAPES


async def test_edits_are_undone_one_by_one_the_last_first() -> None:
    async with debugging(graph("a"), {"n": 1}, breaking("a")) as run:
        stop = await run.stop()
        for value in (2, 3):
            await run.session.set(stop, ".n", value)
        await run.session.undo(stop)
        assert stop.scope["n"] == 2
        await run.session.undo(stop)
        assert stop.scope["n"] == 1
        with pytest.raises(NothingToUndo):
            await run.session.undo(stop)


async def test_an_edit_cannot_be_undone_when_the_frame_has_gone_on() -> None:
    async with debugging(graph("a > b"), {"n": 1}, breaking("a", "b")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", 2)
        stop = await run.on(stop)
        with pytest.raises(NothingToUndo):
            await run.session.undo(stop)
        assert stop.scope["n"] == 2


async def test_edits_are_listed_with_their_stop() -> None:
    async with debugging(graph("a"), {"n": 1}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", 2)
        (edit,) = run.told(ScopeEdited)

        assert (edit.stop, edit.step, edit.layer, edit.path, edit.value) == (stop.id, "a", "state", ("n",), 2)
        assert run.session.interventions == [edit]


# --- Layers ----------------------------------------------------------------------------------------------------------


async def test_a_value_is_set_in_the_layer_that_has_it() -> None:
    async with debugging(BRANCHES, {"vars": {"n": 1}}, breaking("x", "y")) as run:
        stops = await run.stops(2)
        await run.session.set(stops["before p.x"], ".vars.n", 2)
        await run.session.continue_all()
        result = await run.end()

    assert {name: known["outputs"] for name, known in result.state["steps"].items() if name != "p"} == {
        "x": 2,
        "y": 2,
        "z": 2,
    }


async def test_a_value_can_be_set_in_the_layer_of_a_branch_alone() -> None:
    async with debugging(BRANCHES, {"vars": {"n": 1}}, breaking("x", "y")) as run:
        stops = await run.stops(2)
        await run.session.set(stops["before p.x"], ".vars.n", 2, layer="p.x")
        assert stops["before p.x"].scope["vars"] == {"n": 2}
        assert dict(stops["before p.x"].scope.layers)["p.x"]["vars"] == {"n": 2}
        await run.session.continue_all()
        result = await run.end()

    assert (result.state["steps"]["x"]["outputs"], result.state["steps"]["y"]["outputs"]) == (2, 1)


async def test_a_value_set_in_the_layer_of_a_branch_hides_nothing_beside_it() -> None:
    async with debugging(BRANCHES, {"vars": {"n": 1, "m": 2}}, breaking("x", "z")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".vars.n", 5, layer="p.x")
        assert stop.scope["vars"] == {"n": 5, "m": 2}
        stop = await run.on(stop)
        assert stop.scope["vars"]["m"] == 2


async def test_an_edit_that_is_undone_in_a_branch_is_not_brought_by_the_join() -> None:
    async with debugging(BRANCHES, {"vars": {"n": 1, "m": 2}}, breaking("x", "z")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".vars.n", 5, layer="p.x")
        await run.session.undo(stop)
        assert stop.scope["vars"] == {"n": 1, "m": 2}
        stop = await run.on(stop)
        assert stop.scope["vars"] == {"n": 1, "m": 2}


async def test_a_new_value_goes_to_the_innermost_layer() -> None:
    async with debugging(BRANCHES, {"vars": {"n": 1}}, breaking("x")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".fresh", 1)

        assert dict(stop.scope.layers)["p.x"]["fresh"] == 1


@pytest.mark.parametrize(
    ("verb", "path", "layer", "why"),
    [
        ("set", "n", None, "invalid path"),
        ("set", ".n | .x", None, "invalid path"),
        ("set", ".", None, "starts with a key"),
        ("set", ".[0]", None, "starts with a key"),
        ("set", ".n.x", None, "Cannot index number"),
        ("set", ".list.x", None, "Cannot index array"),
        ("set", ".list[-9]", None, "Out of bounds"),
        ("set", ".list[999999999]", None, "too large"),
        ("set", ".n", "no such layer", "there is no layer 'no such layer'; available: state"),
        ("unset", ".missing", None, "nothing to unset at .missing"),
        ("unset", ".list[7]", None, "nothing to unset at"),
        ("unset", ".n.x", None, "nothing to unset at|Cannot index"),
    ],
)
async def test_an_edit_that_cannot_be_is_refused_and_changes_nothing(
    verb: str, path: str, layer: str | None, why: str
) -> None:
    async with debugging(graph("a"), {"n": 1, "list": [1]}, breaking("a")) as run:
        stop = await run.stop()
        told = len(run.log)
        with pytest.raises(BadEdit, match=why):
            await (
                run.session.set(stop, path, 1, layer=layer)
                if verb == "set"
                else run.session.unset(stop, path, layer=layer)
            )

        assert (stop.scope.as_dict(), len(run.log)) == ({"n": 1, "list": [1]}, told)
        with pytest.raises(NothingToUndo):
            await run.session.undo(stop)


# --- Edits and branches ----------------------------------------------------------------------------------------------


async def test_an_edit_in_a_branch_survives_the_join_and_keeps_the_siblings() -> None:
    app = graph("a > l + r > z", l=lambda state: {"l": 1}, r=lambda state: {"r": 2})
    async with debugging(app, {"n": 0}, breaking("l", after="r")) as run:
        stops = await run.stops(2)
        await run.session.set(stops["before l"], ".n", 5)
        await run.session.set(stops["after r"], ".r", "by hand")
        await run.session.continue_all()
        result = await run.end()

    assert (result.status, result.state) == (
        Status.PASSED,
        {"n": 5, "a": "done", "l": 1, "r": "by hand", "z": "done"},
    )


async def test_an_edit_in_a_branch_is_not_seen_by_its_siblings() -> None:
    seen: list[Any] = []
    app = graph("a > l + r > z", l=lambda state: seen.append(state["n"]), r=lambda state: seen.append(state["n"]))
    async with debugging(app, {"n": 0}, breaking("l", "r")) as run:
        stops = await run.stops(2)
        await run.session.set(stops["before l"], ".n", 5)
        await run.session.continue_(stops["before l"])
        await run.session.continue_(stops["before r"])
        result = await run.end()

    assert (seen, result.state["n"]) == ([5, 0], 5)


async def test_an_edit_in_a_branch_wins_over_what_its_branch_had_reduced() -> None:
    app = graph(
        "a > l + r > z", l=lambda state: {"n": 1}, r=lambda state: {"n": 10}, reducers={"n": operator.add}
    ).compile()
    async with debugging(app, {"n": 0}, breaking("z")) as run:
        stop = await run.stop()
        assert stop.scope["n"] == 11
        await run.session.set(stop, ".n", 100)
        await run.session.continue_(stop)
        assert (await run.end()).state["n"] == 100


@pytest.mark.parametrize("branch", ["l", "r"])
@pytest.mark.parametrize(("path", "value"), [(".k[1]", 9), (".k", [0, 9])])
async def test_an_edit_of_what_is_reduced_keeps_what_the_siblings_added(branch: str, path: str, value: Any) -> None:
    app = graph(
        "a > l + r > z", l=lambda state: {"k": [1]}, r=lambda state: {"k": [2]}, reducers={"k": operator.add}
    ).compile()
    async with debugging(app, {"k": [0]}, breaking(after=branch)) as run:
        stop = await run.stop()
        assert stop.scope["k"] == [0, {"l": 1, "r": 2}[branch]]
        await run.session.set(stop, path, value)
        await run.session.continue_(stop)
        result = await run.end()

    assert sorted(result.state["k"]) == sorted([0, 9, {"l": 2, "r": 1}[branch]])
    assert (await app.invoke(None, log=run.log)).state == result.state


async def test_an_edit_of_what_is_reduced_in_a_graph_is_not_reduced_twice() -> None:
    inner = graph("x > y", x=lambda state: {"k": [1]}, reducers={"k": operator.add})
    app = graph("a > g > z", g=inner, reducers={"k": operator.add})
    async with debugging(app, {"k": [0]}, breaking("g.y")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".k", [0, 1, 5])
        await run.session.continue_(stop)

        assert (await run.end()).state["k"] == [0, 1, 5]


async def test_what_is_unset_in_a_graph_is_gone_in_the_graph_around_it() -> None:
    async with debugging(graph("a > g > z", g=graph("x > y")), {"n": 0}, breaking("g.y")) as run:
        stop = await run.stop()
        await run.session.unset(stop, ".n")
        await run.session.continue_(stop)

        assert "n" not in (await run.end()).state


async def test_what_is_unset_in_a_branch_is_gone_after_the_join() -> None:
    async with debugging(graph("a > l + r > z"), {"n": 0}, breaking("l")) as run:
        stop = await run.stop()
        await run.session.unset(stop, ".n")
        await run.session.continue_(stop)

        assert "n" not in (await run.end()).state


async def test_an_edit_in_a_graph_reaches_the_graph_around_it() -> None:
    async with debugging(graph("a > g > z", g=graph("x > y")), {"n": 0}, breaking("g.y")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", 5)
        await run.session.continue_(stop)

        assert (await run.end()).state["n"] == 5


async def test_an_edit_in_a_turn_is_seen_in_the_next() -> None:
    plan = flow(repeat("r", give("x", "${{ .vars.n }}"), config={"times": 2}))
    async with debugging(plan, {"vars": {"n": 1}}, breaking("x")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".vars.n", 7)
        await run.session.continue_(await run.on(stop))

        assert (await run.end()).state["steps"]["x"]["outputs"] == 7


# --- Config ----------------------------------------------------------------------------------------------------------


async def test_the_config_is_shown_as_written_and_as_it_would_be_now() -> None:
    step = Step(
        "x", "give", {"outputs": "${{ .vars.n + 1 }}", "plain": "text", "broken": "${{ .vars.n | error }}"}, id="x"
    )
    async with debugging(flow(step), {"vars": {"n": 1}}, breaking("x", stop_on_error=True)) as run:
        stop = await run.stop()
        preview = await run.session.config(stop)

        assert preview.raw["outputs"] == "${{ .vars.n + 1 }}"
        assert preview.resolved == {"outputs": 2, "plain": "text"}
        assert preview.expressions == (".vars.n + 1", ".vars.n | error")
        assert list(preview.problems) == [".broken"]

        await run.session.set(stop, ".vars.n", 10)
        assert (await run.session.config(stop)).resolved["outputs"] == 11


async def test_a_step_runs_with_the_config_it_is_given_by_hand() -> None:
    async with debugging(flow(give("x", "as written")), {"vars": {"n": 1}}, breaking("x")) as run:
        stop = await run.stop()
        await run.session.override_config(stop, {"outputs": "now ${{ .vars.n }}"})
        assert (await run.session.config(stop)).resolved["outputs"] == "now 1"
        await run.session.continue_(stop)

        assert (await run.end()).state["steps"]["x"]["outputs"] == "now 1"


async def test_an_override_can_be_taken_back() -> None:
    async with debugging(flow(give("x", "as written")), {}, breaking("x")) as run:
        stop = await run.stop()
        await run.session.override_config(stop, {"outputs": "other"})
        await run.session.override_config(stop, {})
        await run.session.continue_(stop)

        assert (await run.end()).state["steps"]["x"]["outputs"] == "as written"


async def test_an_override_is_an_edit_that_undo_takes_back() -> None:
    async with debugging(flow(give("x", "as written")), {"n": 1}, breaking("x")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", 2)
        await run.session.override_config(stop, {"outputs": "other"})
        await run.session.undo(stop)
        assert (await run.session.config(stop)).resolved["outputs"] == "as written"
        assert stop.scope["n"] == 2
        await run.session.continue_(stop)

        assert (await run.end()).state["steps"]["x"]["outputs"] == "as written"


async def test_an_override_is_for_its_own_step_and_run() -> None:
    plan = flow(repeat("r", give("x", "as written"), config={"times": 2}))
    session = Session()
    session.add_breakpoint("x", once=True)
    async with debugging(plan, {}, session) as run:
        stop = await run.stop()
        await session.override_config(stop, {"outputs": "once"})
        await session.continue_(stop)

        assert (await run.end()).state["steps"]["x"]["outputs"] == "as written"


async def test_a_way_of_combining_steps_can_be_changed_too() -> None:
    plan = flow(repeat("r", leaf("x"), config={"times": 1}))
    async with debugging(plan, {}, breaking("r")) as run:
        stop = await run.stop()
        await run.session.override_config(stop, {"times": 3})
        await run.session.continue_(stop)
        await run.end()

    assert run.does.ran == ["r[0].x", "r[1].x", "r[2].x"]


# --- Skip, force, retry ----------------------------------------------------------------------------------------------


async def test_a_skipped_node_does_not_run_and_its_outputs_are_those_given() -> None:
    async with debugging(graph("a > b > c", b=raises()), {}, breaking("b")) as run:
        stop = await run.stop()
        await run.session.skip(stop, {"b": "by hand"})
        result = await run.end()

    assert (result.status, result.state) == (Status.PASSED, {"a": "done", "b": "by hand", "c": "done"})
    assert result.steps["b"].status is Status.SKIPPED
    assert run.ran == ["a", "c"]


async def test_a_skipped_step_is_told_so_to_the_steps_after_it() -> None:
    async with debugging(flow(leaf("x"), give("z", "${{ .steps.x }}")), {}, breaking("x")) as run:
        await run.session.skip(await run.stop(), {"v": 1})
        result = await run.end()

    assert result.state["steps"]["z"]["outputs"] == {
        "status": "skipped",
        "outputs": {"v": 1},
        "error": None,
        "attempt": 1,
    }


async def test_a_part_can_be_skipped_whole() -> None:
    plan = flow(parallel("p", leaf("x"), leaf("y")), leaf("z"))
    async with debugging(plan, {}, breaking("p")) as run:
        await run.session.skip(await run.stop())

        assert (await run.end()).status is Status.PASSED
        assert run.ran == ["z"]


@pytest.mark.parametrize("status", ["passed", "skipped"])
async def test_a_failure_can_be_forced_into_a_success(status: str) -> None:
    async with debugging(graph("a > b", a=raises()), {}, Session()) as run:
        stop = await run.stop()
        await run.session.force(stop, status, {"a": "by hand"})
        result = await run.end()

    assert (result.status, result.state) == (Status.PASSED, {"a": "by hand", "b": "done"})
    assert result.steps["a"].status == status


async def test_a_success_can_be_forced_into_a_failure_which_is_not_tried_again() -> None:
    plan = flow(leaf("a", retry=retry(3)), leaf("z"))
    async with debugging(plan, {}, breaking(after="a")) as run:
        await run.session.force(await run.stop(), "failed", message="not good enough")
        result = await run.end()

    assert (result.status, str(result.error)) == (Status.FAILED, "Forced: not good enough")
    assert run.ran == ["a"]


async def test_a_step_that_has_not_run_can_be_forced_too() -> None:
    async with debugging(graph("a > b"), {}, breaking("a")) as run:
        await run.session.force(await run.stop(), "passed", {"n": 1})

        assert (await run.end()).state == {"n": 1, "b": "done"}
        (forced,) = run.told(OutcomeForced)
        assert (forced.verb, forced.outcome.status) == ("force", Status.PASSED)


async def test_what_was_edited_where_an_outcome_is_forced_counts() -> None:
    async with debugging(graph("a > b", a=lambda state: {"n": 1}), {"m": 0}, breaking(after="a")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".m", 5)
        await run.session.force(stop, "passed", {"n": 2})

        assert (await run.end()).state == {"m": 5, "n": 2, "b": "done"}


@pytest.mark.parametrize(
    ("status", "outputs"), [("splendid", None), ("cancelled", None), ("timed_out", None), ("passed", [1, 2])]
)
async def test_an_outcome_that_is_none_is_refused(status: str, outputs: Any) -> None:
    async with debugging(graph("a"), {}, breaking("a")) as run:
        stop = await run.stop()
        with pytest.raises(BadEdit):
            await run.session.force(stop, status, outputs)

        assert run.session.stops == [stop]
        assert run.told(OutcomeForced) == []


async def test_a_failed_node_can_be_repaired_and_run_again() -> None:
    def divide(state: State) -> State:
        return {"quotient": 10 / state["by"]}

    async with debugging(graph("a > b", a=divide), {"by": 0}, Session()) as run:
        stop = await run.stop()
        await run.session.set(stop, ".by", 5)
        await run.session.retry(stop)
        result = await run.end()

    assert (result.status, result.state) == (Status.PASSED, {"by": 5, "quotient": 2.0, "b": "done"})
    assert run.ran == ["a", "a#2", "b"]


async def test_a_retry_stops_again_if_it_fails_again() -> None:
    async with debugging(graph("a", a=raises()), {}, Session()) as run:
        stop = await run.stop()
        await run.session.retry(stop)
        again = await run.stop()

        assert (at(stop), at(again)) == ("error a", "error a#2")


async def test_a_retry_forgets_what_the_attempt_before_wrote() -> None:
    app = graph("a > b", a=lambda state: {"n": state["n"] + 1}, reducers={}).compile()
    async with debugging(app, {"n": 0}, breaking(after="a")) as run:
        stop = await run.stop()
        assert stop.scope["n"] == 1
        await run.session.retry(stop)

        assert (await run.end()).state["n"] == 1


async def test_a_retry_runs_with_the_config_given_by_hand() -> None:
    async with debugging(flow(give("x", "as written")), {}, breaking(after="x")) as run:
        stop = await run.stop()
        await run.session.override_config(stop, {"outputs": "better"})
        await run.session.retry(stop)

        assert (await run.end()).state["steps"]["x"] == {
            "status": "passed",
            "outputs": "better",
            "error": None,
            "attempt": 2,
        }


async def test_what_was_unset_before_a_retry_is_unset_once() -> None:
    plan = flow(parallel("p", leaf("x"), leaf("y")))
    async with debugging(plan, {"vars": {"list": [1, 2, 3]}}, breaking(after="x")) as run:
        stop = await run.stop()
        await run.session.unset(stop, ".vars.list[0]")
        await run.session.retry(stop)

        assert (await run.end()).state["vars"] == {"list": [2, 3]}


async def test_a_step_that_has_passed_can_be_run_again_where_it_would_have_gone_on() -> None:
    async with debugging(flow(leaf("a"), leaf("z")), {}, breaking(after="a")) as run:
        await run.session.retry(await run.stop())
        await run.end()

    assert run.ran == ["a", "a#2", "z"]


# --- Injecting -------------------------------------------------------------------------------------------------------


async def test_injected_steps_run_once_and_in_order() -> None:
    async with debugging(flow(give("x", 0), leaf("z")), {}, breaking("x")) as run:
        stop = await run.stop()
        for position in ("before", "before", "after", "after"):
            await run.session.inject(stop, {"uses": "give", "with": {"outputs": 1}}, position)
        await run.session.continue_(stop)
        await run.end()

    assert run.ran == ["x+1", "x+2", "x", "x+3", "x+4", "z"]
    assert len(run.told(StepInjected)) == 4


async def test_an_injected_step_is_seen_by_the_steps_after_it() -> None:
    plan = flow(give("x", "${{ .steps.extra.outputs }}"))
    async with debugging(plan, {}, breaking("x")) as run:
        stop = await run.stop()
        path = await run.session.inject(stop, {"uses": "give", "with": {"outputs": "hello"}, "id": "extra"})
        assert path == "x+1"
        await run.session.continue_(stop)

        assert (await run.end()).state["steps"]["x"]["outputs"] == "hello"


async def test_a_function_can_be_injected_into_a_graph() -> None:
    async with debugging(graph("a > b", b=lambda state: {"seen": state["n"]}), {"n": 1}, breaking("b")) as run:
        stop = await run.stop()
        await run.session.inject(stop, lambda state: {"n": state["n"] + 10})
        await run.session.inject(stop, lambda state: {"later": True}, "after")
        await run.session.continue_(stop)
        result = await run.end()

    assert result.state == {"n": 11, "a": "done", "seen": 11, "later": True}
    assert result.status is Status.PASSED


async def test_an_injected_step_that_fails_stops_the_frame_and_not_its_host() -> None:
    async with debugging(graph("a > b"), {}, breaking("b")) as run:
        stop = await run.stop()
        await run.session.inject(stop, raises("injected"))
        stop = await run.on(stop)

        assert (at(stop), stop.reasons, stop.is_injected) == ("error b+1", ("failure",), True)
        await run.session.continue_(stop)
        result = await run.end()
    assert result.status is Status.PASSED
    assert result.state == {"a": "done", "b": "done"}


async def test_an_injected_step_that_fails_can_be_tried_again() -> None:
    async with debugging(graph("a"), {"ready": False}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.inject(stop, lambda state: {"n": 1} if state["ready"] else 1 / 0)
        stop = await run.on(stop)
        await run.session.set(stop, ".ready", True)
        await run.session.retry(stop)

        assert (await run.end()).state == {"ready": True, "n": 1, "a": "done"}


async def test_one_steps_over_injected_steps_like_over_any_other() -> None:
    async with debugging(graph("a > b"), {}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.inject(stop, lambda state: None)
        await run.session.inject(stop, lambda state: None, "after")
        trail = []
        for _ in range(4):
            stop = await run.over(stop)
            trail.append((at(stop), stop.is_injected))

    assert trail == [("before a+1", True), ("before a", False), ("before a+2", True), ("before b", False)]


async def test_a_breakpoint_is_not_hit_again_because_a_step_was_injected_before_it() -> None:
    async with debugging(graph("a > b"), {}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.inject(stop, lambda state: None)
        await run.session.continue_(stop)
        await run.end()


@pytest.mark.parametrize("verb", ["skip", "force"])
async def test_an_injected_step_runs_also_where_its_host_does_not(verb: str) -> None:
    async with debugging(graph("a > b"), {}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.inject(stop, lambda state: {"before": 1})
        await run.session.inject(stop, lambda state: {"after": 1}, "after")
        await (run.session.skip(stop) if verb == "skip" else run.session.force(stop, "passed"))

        assert (await run.end()).state == {"before": 1, "after": 1, "b": "done"}


async def test_a_step_injected_after_one_that_is_tried_again_runs_after_the_last_attempt() -> None:
    async with debugging(graph("a > b"), {}, breaking(after="a")) as run:
        stop = await run.stop()
        await run.session.inject(stop, lambda state: {"after": 1}, "after")
        await run.session.retry(stop)

        assert (await run.end()).state == {"a": "done", "after": 1, "b": "done"}


async def test_a_step_can_be_injected_in_a_branch_in_a_turn_and_in_cleanup() -> None:
    plan = flow(
        parallel("p", leaf("x"), leaf("y")),
        matrix("m", {"n": [1, 2]}, leaf("w")),
        cleanup=[leaf("k")],
    )
    session = Session()
    for step in ("x", "w", "k"):
        session.add_breakpoint(step, once=True)
    async with debugging(plan, {}, session) as run:
        while (stop := await session.next_stop()) is not None:
            await session.inject(stop, {"uses": "do", "with": {"do": lambda activation: None}})
            await session.continue_(stop)

    assert [each for each in run.ran if "+" in each] == ["p.x+1", "m[0].w+2", "k+3"]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"uses": "nothing"}, UnknownStep),
        ({"uses": "parallel"}, BadEdit),
        ({"with": {}}, BadEdit),
        ({"uses": "give", "wiht": {}}, BadEdit),
        (42, BadEdit),
        (None, BadEdit),
    ],
    ids=str,
)
async def test_what_is_no_step_is_not_injected(given: Any, error: type[Exception]) -> None:
    async with debugging(flow(leaf("a"), leaf("z")), {}, breaking("a")) as run:
        stop = await run.stop()
        with pytest.raises(error):
            await run.session.inject(stop, given)
        with pytest.raises(BadEdit):
            await run.session.inject(stop, {"uses": "give"}, "beside")  # type: ignore[arg-type]
        await run.session.continue_(stop)
        await run.end()

    assert run.ran == ["a", "z"]
    assert run.told(StepInjected) == []


async def test_nothing_is_injected_before_a_step_that_has_run() -> None:
    async with debugging(graph("a > b"), {}, breaking(after="a")) as run:
        stop = await run.stop()
        with pytest.raises(NotAllowed, match="has already run"):
            await run.session.inject(stop, lambda state: None, "before")


# --- Variables -------------------------------------------------------------------------------------------------------


async def test_each_variable_tells_its_layer_and_what_set_it_in_a_graph() -> None:
    app = graph("a > b > c", a=lambda state: {"x": 1, "y": 1}, b=lambda state: {"y": 2})
    async with debugging(app, {"n": 0, "m": 0}, breaking("c")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".m", 9)

        assert told(run) == {
            "n": (0, "state", "input"),
            "m": (9, "state", f"edited at stop {stop.id}"),
            "x": (1, "state", "a"),
            "y": (2, "state", "b"),
        }


async def test_each_variable_tells_its_layer_and_what_set_it_in_a_flow() -> None:
    plan = flow(give("a", {"vars": "an output with a treacherous name"}), parallel("p", leaf("x"), leaf("y")))
    async with debugging(plan, {"vars": {"n": 1}}, breaking("x")) as run:
        await run.stop()

        assert told(run)["vars"] == ({"n": 1}, "run", "input")
        assert told(run)["steps"][1:] == ("run", "a")


async def test_an_edit_that_was_undone_set_nothing() -> None:
    async with debugging(graph("a"), {"n": 0}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", 9)
        await run.session.undo(stop)

        assert told(run) == {"n": (0, "state", "input")}


async def test_what_was_undone_by_going_back_set_nothing() -> None:
    async with debugging(graph("a > b > c", b=lambda state: {"n": 1}), {"n": 0}, breaking("b", "c")) as run:
        stop = await run.back(await run.on(await run.stop()))

        assert at(stop) == "before b"
        assert told(run)["n"] == (0, "state", "input")


async def test_what_branches_brought_tells_the_branch() -> None:
    async with debugging(graph("a > l + r > z"), {}, breaking("z")) as run:
        await run.stop()

        assert told(run)["l"] == ("done", "state", "l")


async def test_a_sub_flow_sees_only_what_it_was_given() -> None:
    plan = flow(call("c", leaf("x"), config={"with": {"tag": "${{ .vars.n }}"}}))
    async with debugging(plan, {"vars": {"n": 1}}, breaking("x")) as run:
        stop = await run.stop()

        assert stop.scope.as_dict() == {"inputs": {"tag": 1}, "steps": {}}
        assert "inputs" in dict(stop.scope.layers)["c"]


def told(run: Debugged) -> dict[str, tuple[Any, str, str | None]]:
    (stop,) = run.session.stops
    return {each.name: (each.value, each.layer, each.set_by) for each in run.session.variables(stop)}


# --- A log of edits is worth the same --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what", ["set", "unset", "skip", "force", "config", "inject", "inject and skip", "set and force"]
)
async def test_a_run_gone_on_with_from_its_log_is_the_run_that_was_edited(what: str) -> None:
    plan = flow(give("x", "${{ .vars.n }}"), give("y", "${{ .vars.n }}"), give("z", "${{ .vars.n }}"))
    at_after = what == "set and force"
    session = breaking(after="y") if at_after else breaking("y")
    async with debugging(plan, {"vars": {"n": 1, "m": 1}}, session) as run:
        stop = await run.stop()
        if "inject" in what:
            await session.inject(stop, {"uses": "give", "with": {"outputs": "injected"}, "id": "extra"})
        match what:
            case "set":
                await session.set(stop, ".vars.n", 5)
            case "unset":
                await session.unset(stop, ".vars.m")
            case "config":
                await session.override_config(stop, {"outputs": "other"})
            case "set and force":
                await session.set(stop, ".vars.n", 5)
        if "skip" in what:
            await session.skip(stop, {"v": 1})
        elif "force" in what:
            await session.force(stop, "passed", {"v": 1})
        else:
            await session.continue_(stop)
        edited = await run.end()

    again = await undebugged(plan, {"vars": {"n": 1, "m": 1}}, log=run.log)
    assert again.state == edited.state


async def test_a_failed_step_in_a_part_can_be_repaired_for_good() -> None:
    plan = flow(sequence("s", leaf("x", fails())), leaf("z"))
    async with debugging(plan, {}, Session()) as run:
        stop = await run.stop()
        await run.session.force(stop, "passed")

        assert (await run.end()).status is Status.PASSED
        assert run.ran == ["s", "s.x", "z"]
