"""The log of a step is text that anything may have written, so it must not become part of a script."""

import pytest

from pitstop.definition.yaml_reader import read_flow
from pitstop.errors import BadFlow, Mistake
from pitstop.plan.expressions import parse_template
from pitstop.steps.registry import StepTypes


def refused(step: str) -> list[Mistake]:
    real = {name: StepTypes().find(name) for name in ("run", "wait")}
    text = f"steps:\n  - {step}\n"
    try:
        read_flow(text, "flow.yaml", real, read_file=lambda path: "", parse_template=parse_template)
    except BadFlow as error:
        return [each for each in error.found if "must not be used in a script" in each.message]
    return []


@pytest.mark.parametrize(
    ("step", "named", "way_out"),
    [
        ("run: echo ${{ .steps.test.log }}", ".steps.test.log", 'env: {LOG: "${{ .steps.test.log }}"}'),
        ('run: echo ${{ .steps["a-b"].log }}', '.steps["a-b"].log', "env: {LOG: '${{ .steps[\"a-b\"].log }}'}"),
        ('run: echo ${{ "\\(.steps.test.log)" }}', ".steps.test.log", '"$LOG"'),
        ('run: echo ${{ ."steps".test."log" }}', ".steps.<id>.log", '"$LOG"'),
        ("run: echo ${{ .steps[.vars.name].log }}", ".steps.<id>.log", '"$LOG"'),
        ("run: echo ${{ .steps.test | .log }}", ".steps.<id>.log", '"$LOG"'),
        ("run: echo ${{ .steps | map_values(.log) }}", ".steps.<id>.log", '"$LOG"'),
        ("run: echo ${{ .steps.test | {log} }}", ".steps.<id>.log", '"$LOG"'),
        ('run: echo ${{ getpath(["steps", "test", "log"]) }}', ".steps.<id>.log", '"$LOG"'),
        ("{run: x, shell: ['${{ .steps.test.log }}', -c]}", ".steps.test.log", '"$LOG"'),
        ("{wait: {command: 'test ${{ .steps.test.log }}'}}", ".steps.test.log", '"$LOG"'),
    ],
)
def test_a_script_must_not_contain_a_log(step: str, named: str, way_out: str) -> None:
    (mistake,) = refused(step)

    assert mistake.message.startswith(f"`{named}` must not be used in a script: its text is command output")
    assert mistake.text[mistake.column - 1 :].startswith("${{")
    assert way_out in str(mistake.hint)


@pytest.mark.parametrize(
    "step",
    [
        "{run: 'echo \"$LOG\"', env: {LOG: '${{ .steps.test.log }}'}}",
        "{run: cat, stdin: '${{ .steps.test.log }}'}",
        "{run: x, if: '.steps.test.log | contains(\"x\")'}",
        "run: echo ${{ .steps.test.outputs.log }} ${{ .steps.log.status }} .steps.test.log",
        "run: echo ${{ .steps.test | .outputs.log }} ${{ .vars.log + .steps.test.status }}",
    ],
)
def test_a_log_can_be_used_where_no_shell_reads_it(step: str) -> None:
    assert refused(step) == []
