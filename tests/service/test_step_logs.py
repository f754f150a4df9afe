"""The logs that steps read are the same after a restart, a re-run from a step, and going back."""

from pathlib import Path

from pitstop.service.caller import LOCAL
from pitstop.service.debugging import verbs
from pitstop.service.runs import DebugRequest, RerunRequest
from pitstop.steps.step_logs import LOG_FILE_BYTES
from tests.moved_clock import MovedClock
from tests.patience import wait_here_until, wait_until
from tests.service.desk import Desk
from tests.service.test_server import CHORES, Server, lose_and_resume, server

__all__ = ["server"]

READS = """\
    steps:
      - {id: test, run: "echo tested by $$; date +%N >&2"}
      - {id: show, run: 'printf %s "$LOG" >> shown; echo >> shown', env: {LOG: "${{ .steps.test.log }}"}}
    """
FINDS = """\
    steps:
      - {id: test, run: "echo tested by $$; date +%N >&2"}
      - {id: show, run: 'cat "$PITSTOP_CONTEXT/test.log" >> shown; echo >> shown'}
    """
READS_NOTHING = """\
    steps:
      - {id: test, run: "echo tested by $$; date +%N >&2"}
      - {id: show, run: "true"}
    """
WAITS = """\
    steps:
      - {id: test, run: "seq 4000; echo tested by $$"}
      - id: show
        run: |
          printf %s "$LOG" >> shown; cat "$PITSTOP_CONTEXT/test.log" >> whole; echo shown >> done.txt
          while [ ! -e go ]; do sleep 0.02; done
        env: {LOG: "${{ .steps.test.log }}"}
    """
ENDS_ALONE = """\
    steps:
      - id: test
        secrets: [TOKEN]
        run: |
          echo "begins with $TOKEN"; echo began >> done.txt; while [ ! -e go ]; do sleep 0.02; done
          echo "ends with $TOKEN"
      - {run: 'printf %s "$LOG" > shown', env: {LOG: "${{ .steps.test.log }}"}}
    """


def halves(file: Path) -> tuple[str, str]:
    """What was written to a file by two executions, which wrote the same amount."""
    text = file.read_text()
    return text[: len(text) // 2], text[len(text) // 2 :]


async def test_a_run_from_a_step_reads_the_same_logs(desk: Desk) -> None:
    for name, text in (("reads.yaml", READS), ("finds.yaml", FINDS)):
        flow = desk.write(text, name)
        await desk.run(flow)
        summary, _ = await desk.run(flow, from_step="show")

        first, second = halves(desk.folder / "shown")
        assert summary.status == "passed"
        assert first == second
        assert first.startswith("tested by ")
        (desk.folder / "shown").unlink()


async def test_a_flow_that_reads_a_log_only_now_finds_what_the_earlier_run_wrote(desk: Desk) -> None:
    flow = desk.write(READS_NOTHING)
    await desk.run(flow)
    for text in (READS, FINDS):
        desk.write(text)
        assert (await desk.run(flow, from_step="show"))[0].status == "passed"

    first, second = halves(desk.folder / "shown")
    assert first == second
    assert first.startswith("tested by ")


async def test_a_step_that_runs_alone_reads_the_log_of_the_last_run(desk: Desk) -> None:
    flow = desk.write(READS)
    await desk.run(flow)
    await desk.run(flow, only="show")

    first, second = halves(desk.folder / "shown")
    assert first == second
    assert first.startswith("tested by ")


async def test_a_step_that_was_gone_back_to_reads_the_same_log(desk: Desk) -> None:
    flow = desk.write(READS + '  - {id: last, run: "true"}\n')
    async with desk.start(flow, debug=DebugRequest(stop_at_entry=True)) as run:
        async for event in run.events():
            if event.kind == "debug.stopped":
                stop = event.fields["stop"]
                verb = {1: verbs.Step(1, "over"), 2: verbs.Step(2, "over"), 3: verbs.Step(3, "back")}
                await desk.debugger(run).say(verb.get(stop) or verbs.Continue(stop))
        assert (await run.wait()).status == "passed"

    first, second = halves(desk.folder / "shown")
    assert first == second
    assert first.startswith("tested by ")


async def test_a_step_that_is_added_in_the_debugger_finds_logs_that_the_flow_does_not_read(desk: Desk) -> None:
    added = {"run": 'cat "$PITSTOP_CONTEXT/test.log" > shown'}
    async with desk.start(desk.write(READS_NOTHING), debug=DebugRequest(stop_at_entry=True)) as run:
        async for event in run.events():
            if event.kind == "debug.stopped" and event.fields["stop"] == 1:
                await desk.debugger(run).say(verbs.Step(1, "over"))
            elif event.kind == "debug.stopped" and event.fields["stop"] == 2:
                await desk.debugger(run).say(verbs.Inject(2, added))
                await desk.debugger(run).say(verbs.Continue(2))
            elif event.kind == "debug.stopped":
                await desk.debugger(run).say(verbs.Continue(event.fields["stop"]))
        assert (await run.wait()).status == "passed"

    assert (desk.folder / "shown").read_text().startswith("tested by ")


async def test_a_run_that_the_next_server_resumes_reads_the_same_logs(server: Server) -> None:
    async with server.open() as service:
        run = await service.runs.start(LOCAL, server.request(WAITS))
        await wait_until(lambda: server.done() == ["shown"])
    async with server.open() as service:
        await wait_until(lambda: server.done() == ["shown", "shown"])
        (server.folder / "go").touch()
        assert (await (await service.runs.get(LOCAL, run.id)).wait()).status == "passed"

    (log, log_again), (file, file_again) = halves(server.folder / "shown"), halves(server.folder / "whole")
    assert (log, file) == (log_again, file_again)
    assert file.endswith(log)
    assert log.splitlines()[-1].startswith("tested by ")
    assert len(log) < len(file)


async def test_the_log_of_a_command_that_ended_while_its_server_hung_is_whole(server: Server) -> None:
    clock = MovedClock()
    async with server.open(clock=clock, database_time=clock) as service:
        run = await service.runs.start(LOCAL, server.request(ENDS_ALONE, secrets={"TOKEN": "hunter2hunter2"}))
        await wait_until(lambda: server.done() == ["began"])
        await wait_until(lambda: clock.waiting == CHORES)
        (server.folder / "go").touch()
        wait_here_until(lambda: list(server.settings.workspaces.glob("*/.pitstop/logs/*.end")))  # the loop hangs
        resumed = await lose_and_resume(service, run, clock)
        assert (await resumed.wait()).status == "passed"

    assert server.done() == ["began"]
    assert (server.folder / "shown").read_text() == "begins with ***\nends with ***\n"


async def test_a_file_has_the_whole_log_up_to_a_limit_and_no_secrets(server: Server) -> None:
    lines = LOG_FILE_BYTES // 16 + 1000
    text = f"""\
        steps:
          - {{id: small, secrets: [TOKEN], run: 'seq -f %015g 5000; echo "$TOKEN"'}}
          - {{id: large, run: seq -f %015g {lines}}}
          - {{run: 'cp "$PITSTOP_CONTEXT"/*.log .'}}
        """
    async with server.open() as service:
        run = await service.runs.start(LOCAL, server.request(text, secrets={"TOKEN": "hunter2hunter2"}))
        assert (await run.wait()).status == "passed"
        again = await service.runs.rerun(LOCAL, run.id, RerunRequest(secrets={"TOKEN": "hunter2hunter2"}))
        assert (await again.wait()).status == "passed"

    small, large = (server.folder / "small.log").read_text(), (server.folder / "large.log").read_text()
    assert small.splitlines() == [f"{number:015}" for number in range(1, 5001)] + ["***"]
    assert len(large) == LOG_FILE_BYTES
    assert large.endswith(f"{lines:015}\n")
