"""What every service promises of steps that run in a terminal, because they read input."""

import pytest

from pitstop.errors import CommandRefused
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import verbs
from pitstop.service.runs import BreakpointRequest
from tests.contracts.service_desk import Desk, collected, next_stop, until
from tests.contracts.service_workspace import is_running, lines_of, said_by, said_until_end

ASKING = """\
steps:
  - id: ask
    secrets: [KEY]
    working_directory: sub
    env: {GREETING: hello}
    accept: [0, 7]
    run: |
      read -p "code? " code
      echo "$GREETING $KEY from $(basename "$PWD"), $(test -t 0 && echo a terminal)"
      echo "code=$code" >> "$PITSTOP_OUTPUT"
      touch made
      exit "$code"
  - {id: last, run: "true"}
"""

REFUSED = """\
steps:
  - {id: group, steps: [{run: "true"}]}
  - {id: stdin, run: cat, stdin: text}
  - {id: broken, run: "echo ${{ .vars.nope.x | keys }}"}
  - {id: invalid, run: "true", accept: "${{ [999] }}"}
"""


class TerminalStepContract:
    """The promises. `desk` is the subclass's fixture."""

    async def test_a_step_that_reads_input_runs_in_a_terminal_and_its_end_is_the_step_s(self, desk: Desk) -> None:
        (desk.folder / "sub").mkdir()
        run, stop = await desk.debug(ASKING, secrets={"KEY": "sesame99"})

        assert "[pitstop] ask failed: exit code 3" in await typed_into_step(desk, run.id, stop.id, b"3\r")
        stop = await next_stop(desk.service, run, stop.id)
        assert (stop.occurrence, stop.position) == ("ask", "error")
        assert stop.outcome is not None
        assert stop.outcome.error is not None
        assert stop.outcome.error.splitlines()[0] == "exit code 3"
        assert "sesame99" not in stop.outcome.error
        again = await typed_into_step(desk, run.id, stop.id, b"4\r")
        assert "[pitstop] ask failed: exit code 4; it is still paused" in again
        shown = await typed_into_step(desk, run.id, stop.id, b"7\r")
        assert "hello sesame99 from sub, a terminal\r\n" in shown
        assert "[pitstop] ask passed" in shown

        stop = await next_stop(desk.service, run, stop.id)
        assert (stop.occurrence, stop.position) == ("last", "before")
        outputs = await desk.debugger(run).say(verbs.Evaluate(".steps.ask.outputs", stop.id))
        assert outputs.values == [{"exit_code": 7, "code": "7"}]
        await desk.debugger(run).say(verbs.Continue(stop.id))
        summary = await run.wait()
        assert (summary.status, summary.intervened) == ("passed", True)
        log = await lines_of(run, "ask")
        assert [line for line in log if "terminal" in line] == ["hello *** from sub, a terminal"] * 3
        kinds = [event.kind for event in await collected(run.events())]
        assert kinds.count("debug.shell_opened") == 3
        assert "step.started" not in kinds[: kinds.index("debug.outcome_forced")]

    async def test_a_step_whose_terminal_is_closed_stays_paused(self, desk: Desk) -> None:
        run, stop = await desk.debug("steps: [{id: a, run: read line}]")
        shell = await desk.service.workspaces.shell(LOCAL, run.id, stop.id, mode="step")
        await shell.write(b"@help")  # which is input of the step, not a command to Pitstop
        await said_by(shell, b"@help")
        await shell.close()

        assert [each.id for each in (await desk.debugger(run).say(verbs.State())).stops] == [stop.id]
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()

    async def test_where_a_step_cannot_run_in_a_terminal_the_refusal_names_the_way_out(self, desk: Desk) -> None:
        reasons = {
            "group": "it has no command of its own; `shell` opens a shell where it works",
            "stdin": "override `stdin` with null to type its input",
            "broken": "script: ",
            "invalid": "exit codes must be between 0 and 255",
        }
        run, stop = await desk.debug(REFUSED, breakpoints=tuple(BreakpointRequest(step=each) for each in reasons))
        for step, reason in reasons.items():
            assert stop.step == step
            with pytest.raises(CommandRefused, match=f"cannot run {step} in a terminal") as refusal:
                await desk.service.workspaces.shell(LOCAL, run.id, stop.id, mode="step")
            assert reason in str(refusal.value)
            await desk.debugger(run).say(verbs.Skip(stop.id))
            if step != "invalid":
                stop = await next_stop(desk.service, run, stop.id)
        await run.wait()
        interventions = (await desk.debugger(run).say(verbs.State())).interventions
        assert not any("shell" in each for each in interventions)

        run = await desk.start("steps: [{id: a, run: 'until test -e go; do sleep 0.02; done'}]")
        await until(lambda: is_running(run, "a"))
        with pytest.raises(CommandRefused, match="a is running: stop it, and run it in a terminal at its failure"):
            await desk.service.workspaces.shell(LOCAL, run.id, "a", mode="step")
        (desk.folder / "go").touch()
        await run.wait()


async def typed_into_step(desk: Desk, run: str, stop: int, typed: bytes) -> str:
    """Run the step of a stop in a terminal, and type when it asks; returns what the terminal showed."""
    shell = await desk.service.workspaces.shell(LOCAL, run, stop, mode="step")
    try:
        shown = await said_by(shell, b"code? ")
        await shell.write(typed)
        return (shown + await said_until_end(shell)).decode()
    finally:
        await shell.close()
