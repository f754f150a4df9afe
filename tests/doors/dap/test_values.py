"""What the stopped step sees: scopes, variables, expressions, and changing any of it."""

import json
from pathlib import Path

from tests.doors.dap.adapter_client import AdapterClient, written
from tests.doors.dap.flows import line_of

LAST = line_of("shop.yaml", "id: last")


async def test_the_scopes_are_state_inputs_step_outputs_and_env(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", breakpoints=[{"line": LAST, "mode": "after"}])
    scopes = await adapter.scopes(await adapter.stopped())

    assert list(scopes) == ["State", "Inputs", "Vars", "Step", "Outputs", "Env"]
    assert scopes["State"]["presentationHint"] == "locals"
    assert scopes["Inputs"]["presentationHint"] == "arguments"
    assert scopes["Outputs"]["presentationHint"] == "returnValue"
    assert [name for name, scope in scopes.items() if scope["expensive"]] == ["Env"]
    step = await adapter.variables(scopes["Step"]["variablesReference"])
    assert (step["type"]["value"], step["status"]["value"]) == ('"run"', '"passed"')
    config = await adapter.variables(step["config"]["variablesReference"])
    assert config["script"]["value"] == '"echo \\"eu Ada\\""'


async def test_variables_have_a_path_a_type_and_one_line(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True, initialize={"supportsVariableType": True})
    state = await adapter.state(await adapter.stopped())
    vars_ = await adapter.variables(state["vars"]["variablesReference"])

    assert state["vars"]["namedVariables"] == 3
    assert vars_["region"] == {
        "name": "region",
        "value": '"eu"',
        "type": "string",
        "evaluateName": ".vars.region",
        "variablesReference": 0,
    }
    assert (vars_["prices"]["indexedVariables"], vars_["prices"]["value"]) == (3, "[100, 20, 3]")
    prices = await adapter.variables(vars_["prices"]["variablesReference"], filter="indexed", start=1, count=1)
    assert [(each["name"], each["value"], each["evaluateName"]) for each in prices.values()] == [
        ("1", "20", ".vars.prices[1]")
    ]
    assert await adapter.variables(vars_["prices"]["variablesReference"], filter="named") == {}


async def test_a_long_list_is_given_in_pages_or_with_a_way_to_the_rest(adapter: AdapterClient, folder: Path) -> None:
    numbers = json.dumps(list(range(2500)))
    (folder / "long_list.yaml").write_text(f"name: l\nvars: {{numbers: {numbers}}}\nsteps:\n  - run: echo\n")
    await adapter.launch("long_list.yaml", stopOnEntry=True)
    state = await adapter.state(await adapter.stopped())
    reference = (await adapter.variables(state["vars"]["variablesReference"]))["numbers"]["variablesReference"]

    page = await adapter.variables(reference, start=2400, count=50)
    assert list(page) == [str(number) for number in range(2400, 2450)]
    whole = await adapter.variables(reference)
    *shown, rest = whole.values()
    assert (len(shown), rest["name"]) == (1000, "… 1500 more")
    following = await adapter.variables(rest["variablesReference"])
    assert next(iter(following.values()))["value"] == "1000"


async def test_references_are_never_used_twice_and_old_ones_are_refused(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(7, LAST))
    first = await adapter.scopes(await adapter.stopped())
    await adapter.ask("continue", threadId=1)
    second = await adapter.scopes(await adapter.stopped())

    old = {each["variablesReference"] for each in first.values()}
    assert old.isdisjoint(each["variablesReference"] for each in second.values())
    for reference in old:
        refused = await adapter.refusal("variables", variablesReference=reference)
        assert refused.message == f"value {reference} belongs to a stop that has ended"
        assert not refused.error["showUser"]


async def test_what_the_console_has_shown_can_be_opened_after_the_run_went_on(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(7, LAST))
    await adapter.stopped()
    shown = await adapter.ask("evaluate", expression=".vars", context="repl")
    watched = await adapter.ask("evaluate", expression=".vars", context="watch")
    await adapter.ask("continue", threadId=1)
    await adapter.stopped()

    assert (await adapter.variables(shown["variablesReference"]))["region"]["value"] == '"eu"'
    await adapter.refusal("variables", variablesReference=watched["variablesReference"])


async def test_a_variable_can_be_set_and_the_run_goes_on_with_it(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(LAST,), initialize={"supportsInvalidatedEvent": True})
    state = await adapter.state(await adapter.stopped())
    vars_ = state["vars"]["variablesReference"]
    told = await adapter.ask("setVariable", variablesReference=vars_, name="region", value='"us"')

    assert told["value"] == '"us"'
    assert await adapter.event("invalidated") == {"areas": ["variables"]}
    await adapter.ask("continue", threadId=1)
    await adapter.ended()
    assert "us Ada\n" in adapter.output("stdout")


async def test_what_was_in_a_value_that_was_set_is_gone(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    state = await adapter.state(await adapter.stopped())
    vars_ = await adapter.variables(state["vars"]["variablesReference"])
    told = await adapter.ask(
        "setVariable", variablesReference=state["vars"]["variablesReference"], name="prices", value="[1]"
    )

    assert list(await adapter.variables(told["variablesReference"])) == ["0"]
    await adapter.refusal("variables", variablesReference=vars_["prices"]["variablesReference"])
    assert (await adapter.variables(state["vars"]["variablesReference"]))["prices"]["value"] == "[1]"


async def test_a_value_that_is_not_json_is_refused_where_the_user_sees_it(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    state = await adapter.state(await adapter.stopped())
    vars_ = state["vars"]["variablesReference"]
    refused = await adapter.refusal("setVariable", variablesReference=vars_, name="region", value="us")

    assert refused.message.startswith("'us' is not JSON")
    assert refused.error["showUser"]
    assert await adapter.evaluate(".vars.region") == '"eu"'


async def test_an_expression_can_be_set(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    (frame, *_) = await adapter.stack(await adapter.stopped())
    told = await adapter.ask("setExpression", expression=".vars.prices[1]", value="7", frameId=frame["id"])

    assert told["value"] == "7"
    assert await adapter.evaluate(".vars.prices") == "[100, 7, 3]"
    assert "invalid path" in (await adapter.refusal("setExpression", expression=".a | .b", value="7")).message


async def test_expressions_are_jq_in_every_context(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    (frame, *_) = await adapter.stack(await adapter.stopped())
    at = frame["id"]

    assert await adapter.evaluate(".vars.prices | add", at, "watch") == "123"
    assert await adapter.evaluate(".vars.prices[]", at) == "[100, 20, 3]"
    assert await adapter.evaluate("empty", at) == "no value"
    assert await adapter.evaluate("region", at, "hover") == '"eu"'
    assert await adapter.evaluate(".vars.region", at, "hover") == '"eu"'
    for context in ("hover", "watch", "repl", "clipboard", "variables", "of a later version"):
        assert await adapter.evaluate(".vars.prices | add", at, context) == "123"
    assert json.loads(await adapter.evaluate(".vars", at, "clipboard"))["prices"] == [100, 20, 3]
    for context, expression in (("hover", "echo hello"), ("hover", "nothing"), ("watch", ".vars |")):
        refused = await adapter.refusal("evaluate", expression=expression, frameId=at, context=context)
        assert not refused.error["showUser"]


async def test_completions_are_keys_functions_and_commands(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    (frame, *_) = await adapter.stack(await adapter.stopped())

    async def labels(text: str) -> list[str]:
        found = await adapter.ask("completions", text=text, column=len(text) + 1, frameId=frame["id"])
        return [each["label"] for each in found["targets"]]

    assert await labels(".vars.re") == ["region"]
    assert "inputs" in await labels(".")
    assert await labels(".vars.prices | add | to_e") == ["to_entries"]
    assert await labels("sk") == ["skip"]
    assert await labels(".nothing.at.all.") == []


async def test_the_console_changes_the_run(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(7,))
    await adapter.stopped()

    assert "skip [JSON | REASON]" in await adapter.evaluate("help")
    assert await adapter.evaluate("frames") == "main  paused  version"
    assert await adapter.evaluate('set .vars.region "us"') == "set .vars.region"
    assert await adapter.evaluate(".vars.region") == '"us"'
    assert await adapter.evaluate("undo") == "undone"
    assert await adapter.evaluate(".vars.region") == '"eu"'
    assert await adapter.evaluate("unset .vars.total") == "removed .vars.total"
    assert json.loads(await adapter.evaluate("config"))["script"].startswith("echo")
    injected = await adapter.evaluate('inject {"uses": "run", "with": {"script": "echo injected"}}')
    assert injected == "version+1 will run before this step"
    assert await adapter.evaluate('override {"script": "echo overridden"}') == "overrode the step's config"
    assert (await adapter.evaluate("break last if .vars.region")).endswith("at last")
    assert "no step" in (await adapter.refusal("evaluate", expression="break lst", context="repl")).message
    await adapter.ask("continue", threadId=1)

    stop = await adapter.stopped()
    assert (await adapter.stack(stop))[0]["name"] == "last"
    assert adapter.output("stdout").startswith("injected\noverridden\n")
    assert await adapter.evaluate("log version") == "overridden"
    assert await adapter.evaluate("log nothing") == "nothing has no output"


async def test_a_client_that_sends_no_context_has_the_commands_too(adapter: AdapterClient) -> None:
    """As Helix, which has no other way to change anything."""
    await adapter.launch("shop.yaml", lines=(7,))
    await adapter.stopped()

    for more in ({}, {"context": None}):
        answer = await adapter.answer_to_raw("evaluate", {"arguments": {"expression": "set .vars.total 77", **more}})
        assert answer["body"]["result"] == "set .vars.total"
    assert (await adapter.ask("evaluate", expression=".vars.total + 1"))["result"] == "78"
    for context in ("hover", "watch", "clipboard"):
        await adapter.refusal("evaluate", expression="set .vars.total 1", context=context)
    assert await adapter.evaluate(".vars.total") == "77"


async def test_a_step_can_be_skipped_in_the_console(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(7,))
    await adapter.stopped()
    assert await adapter.evaluate('skip {"number": "9"}') == "version skipped"

    assert await adapter.event("continued") == {"threadId": 1, "allThreadsContinued": False}
    await adapter.stopped()
    assert await adapter.evaluate(".steps.version | [.status, .outputs.number]") == '["skipped", "9"]'
    assert "reading" not in adapter.output("stdout")


async def test_a_failed_step_is_repaired_and_run_again(adapter: AdapterClient) -> None:
    await adapter.launch("broken.yaml", filters=("failed",))
    assert (await adapter.stopped())["reason"] == "exception"
    assert await adapter.evaluate("retry") == "connect retried"
    await adapter.event("continued")
    stop = await adapter.stopped()
    failed = (stop["reason"], (await adapter.stack(stop))[0]["name"])
    assert failed == ("exception", "connect#2 (error)"), "it fails again"
    state = await adapter.state(stop)
    await adapter.ask("setVariable", variablesReference=state["vars"]["variablesReference"], name="port", value="5432")
    assert await adapter.evaluate("retry") == "connect#2 retried"

    assert await adapter.event("continued") == {"threadId": 1, "allThreadsContinued": True}
    assert await adapter.ended() == 0
    assert "connected" in adapter.output("stdout")


async def test_a_retry_lets_the_other_branches_go_on_too(adapter: AdapterClient, folder: Path) -> None:
    (folder / "two.yaml").write_text(
        "name: two\nvars: {code: 1}\nsteps:\n  - id: both\n    parallel:\n"
        "      - id: bad\n        run: exit ${{ .vars.code }}\n"
        "      - id: good\n        steps:\n          - run: echo one\n          - run: echo two\n"
    )
    await adapter.launch("two.yaml", filters=("failed",))
    await adapter.stopped()
    await adapter.evaluate("set .vars.code 0")
    await adapter.evaluate("retry")

    assert await adapter.ended() == 0
    assert "two\n" in adapter.output("stdout")


async def test_an_outcome_can_be_forced_in_the_console(adapter: AdapterClient) -> None:
    await adapter.launch("broken.yaml", filters=("failed",))
    await adapter.stopped()
    assert await adapter.evaluate("force passed") == "connect forced to passed"
    refused = "invalid outcome"
    await adapter.stopped()
    assert refused in (await adapter.refusal("evaluate", expression="force great", context="repl")).message
    await adapter.ask("continue", threadId=1)

    assert await adapter.ended() == 0


async def test_while_it_runs_no_frame_can_be_seen_and_all_else_works(adapter: AdapterClient, folder: Path) -> None:
    await adapter.launch("long.yaml")
    await written(folder / "started")

    for command, arguments in {
        "stackTrace": {"threadId": 1},
        "scopes": {"frameId": 1},
        "variables": {"variablesReference": 1},
        "next": {"threadId": 1},
        "stepIn": {"threadId": 1},
        "stepOut": {"threadId": 1},
    }.items():
        refused = await adapter.refusal(command, **arguments)
        assert (refused.message, refused.error["showUser"]) == ("notStopped", False), command
    assert await adapter.ask("threads") == {"threads": [{"id": 1, "name": "main"}]}
    path = {"path": str(folder / "long.yaml")}
    (told,) = (await adapter.ask("setBreakpoints", source=path, breakpoints=[{"line": 5}]))["breakpoints"]
    assert told["verified"]
    (told,) = (await adapter.ask("setFunctionBreakpoints", breakpoints=[{"name": "after"}]))["breakpoints"]
    assert told["verified"]
    (told,) = (await adapter.ask("setDataBreakpoints", breakpoints=[{"dataId": ".vars"}]))["breakpoints"]
    assert told["verified"]
    await adapter.ask("setExceptionBreakpoints", filters=["failed"])
    assert await adapter.evaluate(".run.flow") == '"long"', "what the run as a whole knows"
    assert "skip" in await adapter.evaluate("help")
    assert (await adapter.evaluate("break after")).endswith("at after")
    assert await adapter.leave() == 0


async def test_loaded_sources_are_the_files_of_the_flow(adapter: AdapterClient, folder: Path) -> None:
    await adapter.launch("caller.yaml", stopOnEntry=True)
    told = (await adapter.ask("loadedSources"))["sources"]

    assert {each["path"] for each in told} == {str(folder / "caller.yaml"), str(folder / "called.yaml")}
    assert "no such source" in (await adapter.refusal("source", sourceReference=77)).message
