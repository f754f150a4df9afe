from pathlib import Path

from msgspec.structs import replace

from pitstop.engine.workspace_files import command_file_name
from pitstop.events.log import MemoryLog
from pitstop.events.types import Rewound, RunStarted
from pitstop.plan.plan import Step
from pitstop.steps.registry import StepTypes
from tests.steps.bench import Bench, open_bench

TELL = {"script": 'echo "$A $B $C $D $E"'}


async def test_each_environment_is_rendered_where_it_was_written_and_the_inner_one_wins(bench: Bench) -> None:
    inner = Step("call.it", "run", TELL, id="it", env={"E": "step ${{ .inputs.name }}"})
    call = Step(
        "call",
        "call",
        {"with": {"name": "handed in"}, "values": {"env": {"C": "called ${{ .inputs.name }}", "D": "called"}}},
        children=(Step("call.group", "sequence", children=(inner,), env={"D": "group"}),),
        env={"B": "call ${{ .vars.name }}", "C": "call"},
    )
    root = Step("", "sequence", children=(call,), env={"A": "flow ${{ .vars.name }}", "B": "flow"})
    values = {"vars": {"name": "outer"}, "env": {"A": "flow ${{ .vars.name }}", "B": "flow"}}

    await bench.execute(root, values, StepTypes().for_run(bench.workplace, ["run"]))

    assert bench.said == "flow outer call outer called handed in group step handed in\n"


async def test_the_flow_s_environment_is_the_one_that_a_person_sees_and_edits(bench: Bench) -> None:
    root = Step("", "sequence", children=(Step("it", "run", TELL),), env={"A": "as written"})

    await bench.execute(root, {"env": {"A": "edited"}}, StepTypes().for_run(bench.workplace, ["run"]))

    assert bench.said.strip() == "edited"


async def test_a_workplace_is_shown_without_its_secrets(bench: Bench) -> None:
    workplace = replace(bench.workplace, secrets={"TOKEN": "hunter2"})

    assert "hunter2" not in repr(workplace)


async def test_an_occurrence_that_runs_again_is_another_command(bench: Bench) -> None:
    root = Step("", "sequence", children=(Step("it", "run", {"script": "echo x >> runs"}),))
    step_types = StepTypes().for_run(bench.workplace, ["run"])

    await bench.execute(root, {}, step_types)
    await bench.execute(root, {}, step_types)

    assert (bench.repo / "runs").read_text() == "x\nx\n"


async def test_a_run_that_is_resumed_uses_the_keys_that_it_used_before(bench: Bench) -> None:
    shown = {"script": 'echo "$PITSTOP_EXECUTION_KEY $PITSTOP_OUTPUT"'}
    root = Step("", "sequence", children=(Step("a", "run", shown), Step("b", "run", shown)))
    log = MemoryLog()
    await bench.execute(root, {}, StepTypes().for_run(bench.workplace, ["run"]), log=log)
    first_a, first_b = bench.said.splitlines()

    events = log.read()
    begins = next(number for number, event in enumerate(events, 1) if getattr(event, "occurrence", "") == "b")
    cut = MemoryLog(events[:begins])  # as if the process had died then
    async with open_bench(Path(bench.workspace.home)) as later:
        await later.execute(root, {}, StepTypes().for_run(later.workplace, ["run"]), log=cut)
        (later_b,) = later.said.splitlines()

    assert [line.split()[0] for line in (first_a, first_b)] == ["bench:a:r0:1", "bench:b:r0:1"]
    assert later_b.split()[0] == "bench:b:r0:1"
    assert Path(later_b.split()[1]).name == Path(first_b.split()[1]).name


async def test_an_occurrence_of_a_frame_that_was_rewound_has_another_key(bench: Bench) -> None:
    shown = {"script": 'echo "$PITSTOP_EXECUTION_KEY"'}
    root = Step("", "sequence", children=(Step("a", "run", shown),))
    log = MemoryLog([RunStarted(0.0, "run", {}), Rewound(0.0, "main", "main", "a", "before", 1, None, 1)])

    await bench.execute(root, {}, StepTypes().for_run(bench.workplace, ["run"]), log=log)

    assert bench.said == "bench:a:r1:1\n"


def test_a_control_file_of_a_long_address_has_a_name_of_its_own() -> None:
    names = {command_file_name(f"run:{'loop[1].' * 100}{step}:r0:1") for step in ("a", "b")}

    assert len(names) == 2
    assert all(len(name) < 200 and "/" not in name for name in names)


async def test_artifacts_of_a_step_s_own_workspace_become_the_run_s(bench: Bench) -> None:
    own = await bench.workplace.at("step")
    await own.files.write("artifacts", "dist/tool", bytes(3_000_000), mode=0o755)
    await bench.workplace.leave("step")

    ((tool,),) = await bench.workplace.files.find("artifacts", ["dist"])
    assert (tool.path, tool.size, tool.mode) == ("dist/tool", 3_000_000, 0o755)


async def test_a_workspace_that_is_lost_can_be_left(bench: Bench) -> None:
    own = await bench.workplace.at("step")
    await bench.workplace.executor.release(own.workspace)

    await bench.workplace.leave("step")

    assert (await bench.workplace.at("step")).workspace.id != own.workspace.id
