from pitstop.plan.plan import Step
from pitstop.steps.registry import StepTypes
from tests.steps.bench import Bench

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


async def test_an_occurrence_that_runs_again_is_another_command(bench: Bench) -> None:
    root = Step("", "sequence", children=(Step("it", "run", {"script": "echo x >> runs"}),))
    step_types = StepTypes().for_run(bench.workplace, ["run"])

    await bench.execute(root, {}, step_types)
    await bench.execute(root, {}, step_types)

    assert (bench.repo / "runs").read_text() == "x\nx\n"
