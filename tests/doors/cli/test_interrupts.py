"""Ctrl-C and SIGTERM, once, twice and at any moment: a clear message, exit code 130, and nothing left running."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from pitstop.doors.cli.interrupts import BEAT_SECONDS
from tests.amounts import amount
from tests.doors.cli.command_line import CommandLine
from tests.patience import PATIENCE_SECONDS

FORKING = """\
    steps:
      - id: first
        run: echo here; (setsid sleep 1000 &); sleep 0.05
      - parallel:
          - id: stubborn
            run: "trap '' TERM; echo stubborn; while :; do sleep 0.05; done"
          - {id: daemons, run: "for i in 1 2 3; do (setsid sleep 1000 &) ; done; echo daemons; exec sleep 1000"}
          - {id: expression, check: "[range(100)] | length > 200", every: 10ms, within: 100s}
    cleanup:
      - run: echo cleaned >> cleaned
    """


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_once_ends_the_steps_and_cleans_up(cli: CommandLine, number: signal.Signals) -> None:
    cli.write(
        "flow.yaml",
        "steps: [{id: nap, run: 'trap \"echo bye; exit 0\" TERM; echo ready; sleep 1000 & wait'}]\n"
        "cleanup: [{run: echo cleaned}]",
    )
    started = cli.start("run", "flow.yaml")
    started.read_until("nap | ready")

    started.send(number)
    said = started.wait()

    assert said.code == 130
    assert f"interrupted ({number.name}): cancelling the steps and cleaning up" in said.out
    assert "nap | bye" in said.lines
    assert "cleanup-1 | cleaned" in said.lines
    assert said.lines[-1].startswith("flow cancelled after ")


PATIENT = """\
    from pitstop.runs import workplaces  # in this order
    from pitstop.service.local import opening  # in this order

    make = workplaces.KillableWorkplace
    workplaces.KillableWorkplace = lambda **parts: make(**parts, grace_seconds=1e6)
    """


def test_twice_ends_everything_at_once(cli: CommandLine) -> None:
    """Steps that would otherwise have more time to end than anybody here waits."""
    cli.write("flow.yaml", FORKING)
    patient = cli.write("patient/sitecustomize.py", PATIENT).parent
    started = cli.start("run", "flow.yaml", env={"PYTHONPATH": f"{patient}:{os.environ.get('PYTHONPATH', '')}"})
    started.read_until("stubborn | stubborn")

    started.send(signal.SIGINT)
    started.read_until("interrupt again to kill it")
    started.send(signal.SIGINT)
    said = started.wait()

    assert said.code == 130
    assert "killing it" in said.out


def test_a_signal_is_answered_while_a_cleanup_runs(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{run: 'true'}]\ncleanup: [{run: 'echo cleaning; exec sleep 1000'}]")
    started = cli.start("run", "flow.yaml")
    started.read_until("cleanup-1 | cleaning")

    started.send(signal.SIGTERM)

    assert started.wait().code == 130


def test_a_signal_is_answered_when_nobody_reads_the_output(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{run: 'yes'}]")
    started = cli.start("run", "flow.yaml")
    started.read_until("y")  # and never again
    started.wait_unread()

    started.send(signal.SIGTERM)

    assert started.wait_quietly() == 130


def test_a_signal_that_comes_when_the_run_has_just_ended_is_answered_too(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{run: 'true'}]")
    script = cli.write(
        "signalled.py",
        """\
        import os, signal
        from pitstop.__main__ import main
        from pitstop.doors.cli.plain import PlainDisplay

        PlainDisplay.close = lambda display: os.kill(os.getpid(), signal.SIGINT)
        main()
        """,
    )
    command = [sys.executable, str(script), "run", "flow.yaml"]
    said = subprocess.run(command, cwd=cli.folder, env=cli.environment, capture_output=True, text=True, check=False)

    assert (said.returncode, said.stderr) == (130, "pitstop: interrupted (SIGINT)\n")


STANDING_STILL = """\
    import asyncio, os, signal
    from pitstop.doors.cli.interrupts import Interrupts

    interrupts = Interrupts()
    interrupts.listen()

    async def run():
        with interrupts.taken_by(lambda name, count: print(name)):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGALRM)  # as the timer does
            os.kill(os.getpid(), signal.SIGSTOP)
            await asyncio.sleep(0)

    asyncio.run(run())
    """


def test_a_process_that_stood_still_for_a_while_is_not_taken_for_one_that_hangs(cli: CommandLine) -> None:
    script = cli.write("standing.py", STANDING_STILL)
    standing = subprocess.Popen([sys.executable, str(script)], env=cli.environment, stdout=subprocess.PIPE)
    os.waitid(os.P_PID, standing.pid, os.WSTOPPED)
    time.sleep(1.5 * BEAT_SECONDS)  # so long it is stopped
    standing.send_signal(signal.SIGCONT)
    out, _ = standing.communicate(timeout=PATIENCE_SECONDS)

    assert (standing.returncode, out) == (0, b"SIGINT\n")


@pytest.mark.repeats
@pytest.mark.parametrize("seed", range(amount(8, soak=24)))
def test_at_any_moment_nothing_is_left_and_nothing_is_said_that_is_no_message(cli: CommandLine, seed: int) -> None:
    cli.write("flow.yaml", FORKING)
    chance = random.Random(seed)
    started = cli.start("run", "flow.yaml")
    started.wait_listening()
    time.sleep(chance.random() * 1.2)  # the random moment, from the first of our imports on

    for _ in range(chance.choice((1, 2, 2, 3))):
        if not started.is_over():
            started.send(chance.choice((signal.SIGINT, signal.SIGTERM)))
        time.sleep(chance.random() * 0.3)
    if not started.is_over():
        started.send(signal.SIGINT)
        time.sleep(0.1)
    if not started.is_over():
        started.send(signal.SIGINT)
    said = started.wait()

    assert said.code == 130
    assert "interrupted" in said.out + said.err
