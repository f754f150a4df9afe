"""From a flow to its plan, and to what its first step sees."""

from collections.abc import Mapping
from typing import Any

import pytest

from pitstop.definition.flow import Flow, StepSpec
from pitstop.errors import BadFlow, BadInputs
from pitstop.plan.plan import Plan, Retry, Source
from pitstop.plan.planner import checked_inputs, first_values, plan_flow
from tests.definition.flow_types import read


def plan(text: str, files: Mapping[str, str] | None = None, inputs: Mapping[str, Any] | None = None) -> Plan:
    """The plan of a flow in a folder with these files."""

    def load_flow(path: str) -> Flow:
        if files is None or path not in files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return read(files[path], file=path)

    return plan_flow(read(text), inputs, load_flow)


def mistakes_of(text: str, files: Mapping[str, str] | None = None) -> list[str]:
    with pytest.raises(BadFlow) as caught:
        plan(text, files)
    return [str(mistake).splitlines()[0] for mistake in caught.value.found]


def test_a_step_is_called_by_its_number_or_its_id() -> None:
    made = plan(
        """
steps:
  - run: a
  - parallel:
      - {id: lint, run: b}
      - {run: c}
  - {id: deploy, steps: [{run: d}, {matrix: {x: [1]}, steps: [{run: e}]}]}
"""
    )
    assert list(made.steps) == ["1", "2", "2.lint", "2.2", "deploy", "deploy.1", "deploy.2", "deploy.2.1"]


def test_what_runs_beside_others_has_a_name_of_its_own() -> None:
    made = plan("steps: [{background: [{run: serve}], steps: [{run: smoke}, {id: last, run: stop}]}]")
    assert list(made.steps) == ["1", "1.background", "1.background.1", "1.1", "1.last"]
    assert [child.local for child in made.steps["1"].children] == ["background", "1", "last"]


def test_cleanup_is_told_apart_all_the_way_down() -> None:
    made = plan("steps: [{run: a}]\ncleanup: [{run: b}, {id: down, steps: [{run: c}]}]")
    assert [step.path for step in made.root.cleanup] == ["cleanup-1", "down"]
    assert [path for path, step in made.steps.items() if step.is_cleanup] == ["cleanup-1", "down", "down.1"]


def test_a_step_keeps_what_was_said_about_it() -> None:
    made = plan(
        """
timeout: 30m
steps:
  - id: tests
    name: Test
    if: .inputs.test
    run: pytest
    env: {CI: "1"}
    timeout: 10m
    retry: {times: 2, delay: 1s, backoff: 2}
    continue_on_error: true
    effects: external
"""
    )
    step = made.steps["tests"]
    assert (step.kind, step.config, step.name, step.condition) == ("run", {"script": "pytest"}, "Test", ".inputs.test")
    assert (step.env, step.timeout_seconds, step.retry) == ({"CI": "1"}, 600.0, Retry(2, 1.0, 2.0))
    assert (step.continue_on_error, step.effects) == (True, "external")
    assert step.source == Source("flow.yaml", 4, 5, 12)
    assert (made.root.kind, made.root.timeout_seconds, made.name) == ("sequence", 1800.0, "flow")
    assert made.path_at_line("flow.yaml", 9) == "tests"


# --- Flows that are called -------------------------------------------------------------------------------------------

DEPLOY = """\
inputs: {tag: {type: string}, region: {default: eu}}
vars: {retries: 3}
env: {CI: "1"}
timeout: 5m
steps: [{id: push, run: push}]
cleanup: [{run: undo}]
outputs: {url: "${{ .steps.push.outputs.url }}"}
"""


def test_a_flow_that_is_called_is_planned_in_its_place() -> None:
    made = plan(
        "steps: [{id: deploy, call: flows/deploy.yaml, with: {tag: '${{ .vars.t }}'}}]", {"flows/deploy.yaml": DEPLOY}
    )
    call = made.steps["deploy"]
    assert ([child.path for child in call.children], [step.path for step in call.cleanup]) == (
        ["deploy.push"],
        ["deploy.cleanup-1"],
    )
    assert call.config == {
        "call": "flows/deploy.yaml",
        "with": {"tag": "${{ .vars.t }}"},
        "values": {"inputs": {"tag": None, "region": "eu"}, "vars": {"retries": 3}, "env": {"CI": "1"}, "steps": {}},
        "outputs": {"url": "${{ .steps.push.outputs.url }}"},
    }
    assert call.timeout_seconds == 300.0
    assert made.steps["deploy.push"].source == Source("flows/deploy.yaml", 5, 9, 5)


def test_files_are_named_as_seen_from_the_file_that_names_them() -> None:
    files = {"flows/a.yaml": "steps: [{call: b.yaml}]", "flows/b.yaml": "steps: [{run: x}]"}
    assert list(plan("steps: [{call: flows/a.yaml}]", files).steps) == ["1", "1.1", "1.1.1"]


def test_every_mistake_in_the_calls_is_told_at_once() -> None:
    files = {"deploy.yaml": DEPLOY, "bad.yaml": "steps: [{rnu: x}]"}
    assert mistakes_of(
        """\
steps:
  - {call: deploy.yaml, with: {tga: v1}}
  - {call: deploy.yaml, with: {tag: 5}}
  - {call: nowhere.yaml}
  - {call: bad.yaml}
""",
        files,
    ) == [
        "flow.yaml:2:12: missing input `tag`",
        "flow.yaml:2:32: flow 'deploy' has no input `tga`; did you mean `tag`?",
        "flow.yaml:3:32: input `tag` must be a string, not 5",
        "flow.yaml:4:12: cannot read the flow `nowhere.yaml`: No such file or directory",
        "bad.yaml:1:10: unknown step type `rnu`",
    ]


def test_flows_that_call_each_other_in_a_circle_are_named() -> None:
    files = {"a.yaml": "steps: [{call: sub/b.yaml}]", "sub/b.yaml": "steps: [{group: [{call: ../flow.yaml}]}]"}
    assert mistakes_of("steps: [{call: a.yaml}]", files) == [
        "sub/b.yaml:1:25: the flow calls itself: flow.yaml -> a.yaml -> sub/b.yaml -> flow.yaml"
    ]


def test_flows_that_call_each_other_twice_are_counted() -> None:
    files = {f"{n}.yaml": f"steps: [{{call: {n + 1}.yaml}}, {{call: {n + 1}.yaml}}]" for n in range(40)}
    (told,) = mistakes_of("steps: [{call: 0.yaml}]", {**files, "40.yaml": "steps: [{run: x}]"})
    assert "has at least 10,001 steps, but at most 10,000 are allowed" in told


def test_flows_that_call_each_other_without_end_end() -> None:
    files = {f"{n}.yaml": f"steps: [{{call: {n + 1}.yaml}}]" for n in range(1_000)}
    (told,) = mistakes_of("steps: [{call: 0.yaml}]", files)
    assert "more than 50 levels deep" in told


def test_a_call_needs_somebody_who_loads_flows() -> None:
    with pytest.raises(BadFlow, match="cannot call the flow"):
        plan_flow(read("steps: [{call: a.yaml}]"))


def test_two_steps_with_one_path_are_a_mistake() -> None:
    (told,) = mistakes_of("steps: [{background: [{run: x}], steps: [{id: background, run: y}]}]")
    assert told.startswith("flow.yaml:1:42: path `1.background` is already used by the step at flow.yaml:1:23")


def test_a_template_that_nobody_checked_is_a_mistake_of_the_plan() -> None:
    source = Source("flow.yaml", 1, 9)
    step = StepSpec(kind="run", source=source, config={"script": "a ${{ .b"})
    flow = Flow(name="flow", source=source, steps=(step,))
    with pytest.raises(BadFlow, match=r"flow.yaml:1:9: invalid template: the \$\{\{ at column 3 has no closing \}\}"):
        plan_flow(flow)


# --- Inputs, and what the first step sees ----------------------------------------------------------------------------

RELEASE = """\
inputs:
  tag: {description: What to release}
  count: {default: 1}
  dry: {default: false}
  targets: {type: array, default: [eu]}
vars: {region: eu}
env: {CI: 1}
steps: [{run: x}]
"""


def test_the_first_step_sees_inputs_with_their_defaults_and_what_the_run_was_told() -> None:
    values = first_values(read(RELEASE), {"tag": "v1"}, secrets={"TOKEN": "hidden"}, run={"id": "r1"})
    assert values == {
        "inputs": {"tag": "v1", "count": 1, "dry": False, "targets": ["eu"]},
        "vars": {"region": "eu"},
        "env": {"CI": "1"},
        "steps": {},
        "run": {"id": "r1"},
        "trigger": {},
        "secrets": {"TOKEN": "hidden"},
    }


def test_inputs_from_a_command_line_are_text_until_their_type_is_known() -> None:
    given = {"tag": "5", "count": "5", "dry": "true", "targets": '["us"]'}
    assert checked_inputs(read(RELEASE), given) == {"tag": "5", "count": 5, "dry": True, "targets": ["us"]}


def test_everything_that_is_wrong_with_the_inputs_is_told_at_once() -> None:
    with pytest.raises(BadInputs) as caught:
        plan(RELEASE, inputs={"cuont": 2, "count": "many", "dry": 1})
    assert caught.value.mistakes == (
        "flow 'flow' has no input `cuont`; did you mean `count`?",
        "missing input `tag`: What to release",
        'input `count` must be a number, not "many"',
        "input `dry` must be a boolean, not 1",
    )


def test_a_flow_without_inputs_says_so() -> None:
    with pytest.raises(BadInputs, match="flow 'flow' has no input `a`; it has no inputs"):
        plan("steps: [{run: x}]", inputs={"a": 1})


def test_a_step_has_the_secrets_of_all_that_is_around_it() -> None:
    called = "secrets: [CALLED]\nsteps: [{id: in, run: x, secrets: [IN]}]\ncleanup: [{id: tidy, run: x}]"
    made = plan(
        """
secrets: [FLOW]
steps:
  - {id: alone, run: x}
  - id: group
    secrets: [GROUP, FLOW]
    parallel: [{id: left, run: x, secrets: [LEFT]}, {id: right, run: x}]
  - {background: [{id: beside, run: x}], steps: [{id: front, run: x}], secrets: [BACK]}
  - {id: called, call: other.yaml, secrets: [CALL]}
cleanup: [{id: last, run: x, secrets: [LAST]}]
""",
        {"other.yaml": called},
    )
    assert {path: " ".join(step.secrets) for path, step in made.steps.items() if step.kind == "run"} == {
        "alone": "FLOW",
        "group.left": "FLOW GROUP LEFT",
        "group.right": "FLOW GROUP",
        "3.background.beside": "FLOW BACK",
        "3.front": "FLOW BACK",
        "called.in": "FLOW CALL CALLED IN",
        "called.tidy": "FLOW CALL CALLED",
        "last": "FLOW LAST",
    }


@pytest.mark.parametrize(
    "combining",
    [
        "parallel: [{id: in, run: x}]",
        "matrix: {n: [1]}, steps: [{id: in, run: x}]",
        "repeat: {times: 2}, steps: [{id: in, run: x}]",
        "group: g, steps: [{id: in, run: x}]",
        "steps: [{id: in, run: x}]",
        "choose: [{id: in, run: x}]",
    ],
)
def test_every_way_of_combining_steps_takes_secrets(combining: str) -> None:
    made = plan(f"steps: [{{secrets: [KEY], {combining}}}]")
    assert made.steps["1.in"].secrets == ("KEY",)


def test_an_error_about_very_many_unknown_inputs_is_short() -> None:
    names = ", ".join(f"known{number}: {{default: 1}}" for number in range(5_000))
    flow = read(f"inputs: {{{names}}}\nsteps: [{{run: x}}]")
    with pytest.raises(BadInputs) as refused:
        checked_inputs(flow, {f"other{number}": 1 for number in range(5_000)})
    assert len(refused.value.mistakes) == 101
    assert refused.value.mistakes[-1] == "4,900 more inputs are unknown"


def test_a_merge_after_a_step_is_a_step_of_its_own_behind_it() -> None:
    made = plan(
        "steps: [{id: a, run: x, on_success: 'merge:main'}, {steps: [{id: b, run: x, on_success: 'merge:main'}]}]"
    )
    assert list(made.steps) == ["a", "a!merge", "2", "2.b", "2.b!merge"]
    merge = made.steps["a!merge"]
    assert (merge.kind, merge.config, merge.condition) == ("merge", {"into": "main"}, '.steps["a"].status == "passed"')
    assert (made.steps["a"].on_success, merge.effects) == ("next", "external")


def test_a_card_after_a_failure_is_a_step_right_behind_it() -> None:
    made = plan(
        "steps: [{id: a, run: x, on_failure: 'card:Repair it', on_success: 'merge:main'}, "
        "{id: b, run: y, on_failure: 'trigger:shop-3'}]"
    )
    assert list(made.steps) == ["a", "a!card-failed", "a!merge", "b", "b!trigger-failed"]
    card, trigger = made.steps["a!card-failed"], made.steps["b!trigger-failed"]
    assert (card.config["title"], trigger.config, card.follows_failure) == ("Repair it", {"start": "shop-3"}, True)
    assert (made.steps["a"].on_failure, made.steps["a"].is_log_read) == ("stop", True)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{run: x, on_failure: 'card:Repair it'}", "`on_failure: card:Repair it` needs an `id` for the step"),
        ("{parallel: [{id: a, run: x, on_failure: 'card:m'}, {run: y}]}", "is not possible directly in `parallel`"),
        ("{run: x, on_success: 'merge:main'}", "`on_success: merge:main` needs an `id` for the step"),
        ("{parallel: [{id: a, run: x, on_success: 'merge:m'}, {run: y}]}", "is not possible directly in `parallel`"),
    ],
)
def test_a_merge_that_cannot_follow_is_a_mistake(step: str, message: str) -> None:
    (told,) = mistakes_of(f"steps: [{step}]")
    assert message in told
