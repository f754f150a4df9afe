"""What starts a flow, as its file says it."""

import json
from typing import Any

import jsonschema
import pytest

from pitstop.definition.flow import Concurrency, Flow
from pitstop.definition.schema import flow_schema
from pitstop.definition.yaml_nodes import plain_value
from pitstop.definition.yaml_reader import read_flow
from pitstop.errors import BadFlow, Mistake
from pitstop.plan.expressions import parse_template
from pitstop.steps.registry import StepTypes
from tests.definition.flow_types import mistakes_in, only_mistake, read

STEPS = "\nsteps: [{run: x}]"
PUSH = {
    "enabled": True,
    "branches": ["**"],
    "tags": [],
    "paths": [],
    "on_pass": "nothing",
    "on_fail": "nothing",
}
SCHEDULE = {"enabled": True, "timezone": "UTC", "catch_up": False, "inputs": {}}


def triggers(written: str) -> dict[str, Any]:
    """`on` as the flow has it."""
    return dict(read(f"on: {written}\ninputs: {{sha: {{default: ''}}}}{STEPS}").on)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("push", {"push": PUSH}),
        ("[push, manual]", {"push": PUSH, "manual": {"enabled": True}}),
        ("{push: }", {"push": PUSH}),
        ("{manual: {enabled: false}}", {"manual": {"enabled": False}}),
        ("{push: {branches: main}}", {"push": {**PUSH, "branches": ["main"]}}),
        ("{push: {tags: [v*]}}", {"push": {**PUSH, "branches": [], "tags": ["v*"]}}),
        ("{push: {paths: src/**, on_pass: merge}}", {"push": {**PUSH, "paths": ["src/**"], "on_pass": "merge"}}),
        ("{push: {branches: ['**', '!a\\[1]']}}", {"push": {**PUSH, "branches": ["**", "!a\\[1]"]}}),
    ],
)
def test_a_trigger_has_its_defaults(written: str, expected: dict[str, Any]) -> None:
    assert triggers(written) == expected


def test_schedules_are_a_list_also_when_there_is_one() -> None:
    one = {**SCHEDULE, "cron": "30 2 * * 1-5", "timezone": "Europe/Berlin"}
    other = {**SCHEDULE, "cron": "0 0 29 2 *", "catch_up": True, "inputs": {"sha": "main"}}

    assert triggers("{schedule: {cron: 30 2 * * 1-5, timezone: Europe/Berlin}}") == {"schedule": [one]}
    assert triggers(
        "{schedule: [{cron: 30 2 * * 1-5, timezone: Europe/Berlin}, "
        "{cron: 0 0 29 2 *, catch_up: true, inputs: {sha: main}}]}"
    ) == {"schedule": [one, other]}


def test_a_card_and_a_webhook_are_read_with_all_that_they_say() -> None:
    found = triggers(
        "{card_complete: {status: done, labels: backend, on_pass: merge, on_fail: reject}, "
        "webhook: {provider: github, events: [push], if: .payload.forced, inputs: {sha: .payload.after}}}"
    )

    assert found["card_complete"] == {
        "enabled": True,
        "status": "done",
        "labels": ["backend"],
        "on_pass": "merge",
        "on_fail": "reject",
    }
    assert found["webhook"] == {
        "enabled": True,
        "provider": "github",
        "events": ["push"],
        "if": ".payload.forced",
        "inputs": {"sha": ".payload.after"},
    }
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(
    ("written", "column", "message", "hint"),
    [
        ("psuh", 5, "`on`: unknown trigger `psuh`", "did you mean `push`?"),
        ("[push, {manual: }]", 5, "`on`: a list of triggers has only names", "write a mapping such as"),
        ("{push: {branchs: main}}", 13, "unknown key `on.push.branchs`", "did you mean `branches`?"),
        ("{push: {branches: ['']}}", 24, "`on.push.branches.1`: the pattern is empty", "use `**`"),
        ("{push: {branches: []}}", 23, "`on.push.branches`: the list is empty", "remove it, or add patterns"),
        ("{push: {branches: '!x'}}", 23, "all patterns begin with `!`, so nothing matches", "put `**` first"),
        ("{push: {branches: 'a[b'}}", 23, "the pattern has a `[` without a `]`", "put a `\\` before"),
        ("{push: {branches: '[z-a]'}}", 23, "has the range `z-a`, which is in the wrong order", "put a `\\`"),
        ("{push: {branches: 'a\\'}}", 23, "ends with a `\\` that escapes nothing", "put a `\\`"),
        ("{push: {branches: '${{ .vars.b }}'}}", 23, "expressions are not evaluated in patterns", "use `*` and `**`"),
        ("{push: {branches: refs/heads/main}}", 23, "matched without `refs/heads/`", "did you mean `main`?"),
        ("{push: {paths: src/}}", 20, "no name begins or ends with `/`", "did you mean `src/**`?"),
        ("{push: {on_fail: reject}}", 22, "`on.push.on_fail`: a push has no card to reject", "remove it"),
        (
            "{push: {on_pass: merge:main}}",
            22,
            "`on.push.on_pass` must be `merge` or `nothing`",
            "did you mean `merge`?",
        ),
        ("{card_complete: {status: closed}}", 30, "must be `in_review` or `done`, not `closed`", None),
        ("schedule", 5, "`on`: `schedule` needs `cron`", "write a mapping such as"),
        ("{schedule: }", 16, "`on.schedule` needs `cron`", None),
        ("{schedule: []}", 16, "`on.schedule`: the list is empty", "add schedules"),
        ("{schedule: {cron: 0 25 * * *}}", 23, "`on.schedule.cron`: invalid hour `25`", "use 0-23;"),
        ("{schedule: {cron: 0 0 * * FUN}}", 23, "invalid day of week `FUN`", "use 0-7, where 0 and 7 are Sunday"),
        ("{schedule: {cron: 0 * * * * *}}", 23, "the expression has 6 fields instead of five", "remove the seconds"),
        ("{schedule: {cron: 0 * * * * * *}}", 23, "the expression has 7 fields instead of five", None),
        ("{schedule: {cron: hourly}}", 23, "has 1 field instead of five: minute, hour, day of month", None),
        ("{schedule: {cron: '@daily'}}", 23, "`@daily` is not supported", "write `0 0 * * *`"),
        ("{schedule: {cron: 0 0 30 2 *}}", 23, "never fires, because there is no such date", "change the day"),
        ("{schedule: [{cron: 0 0 31 2-4/2 *}]}", 24, "`on.schedule.1.cron`: the expression never fires", "change"),
        ("{schedule: {cron: 0 0 * * *, on_pass: merge}}", 43, "there is no card or branch to act on", "remove it"),
        ("{schedule: {cron: 0 0 * * *, inputs: {shaa: 1}}}", 49, "the flow has no input `shaa`", "did you mean `sha`?"),
        (
            "{schedule: {cron: 0 0 * * *, timezone: Europe/Berln}}",
            44,
            "unknown timezone `Europe/Berln`",
            "did you mean `Europe/Berlin`?",
        ),
        ("{schedule: {cron: 0 0 * * *, timezone: Europe}}", 44, "unknown timezone `Europe`", None),
        ("{schedule: {cron: 0 0 * * *, timezone: ../passwd}}", 44, "unknown timezone `../passwd`", None),
        (
            "{webhook: {provider: githup}}",
            26,
            "must be `github`, `gitlab`, `gitea` or `plain`",
            "did you mean `github`?",
        ),
        ("{webhook: {on_fail: fail}}", 25, "there is no card or branch to act on", "only `push` and `card_complete`"),
        ("{webhook: {if: '.a == \"'}}", 20, "invalid jq expression: unterminated string", None),
        ("{webhook: {inputs: {sha: '{a'}}}", 30, "invalid jq expression", None),
        ("{webhook: {inputs: {other: .a}}}", 32, "the flow has no input `other`", None),
        ("{manual: {on_pass: nothing}}", 24, "there is no card or branch to act on", "remove it"),
    ],
)
def test_a_mistake_in_a_trigger_is_found_at_its_place(
    written: str, column: int, message: str, hint: str | None
) -> None:
    mistake = only_mistake(f"on: {written}\ninputs: {{sha: }}{STEPS}")

    assert (mistake.line, mistake.column) == (1, column)
    assert message in mistake.message
    assert hint is None or hint in (mistake.hint or "")


def test_a_trigger_has_a_limited_number_of_patterns_and_schedules() -> None:
    patterns, schedules = ["a"] * 101, [{"cron": "0 0 * * *"}] * 21

    assert not mistakes_in(f"on: {json.dumps({'push': {'paths': patterns[1:]}, 'schedule': schedules[1:]})}{STEPS}")
    found = mistakes_in(f"on: {json.dumps({'push': {'paths': patterns}, 'schedule': schedules})}{STEPS}")
    assert [each.message for each in found] == [
        "`on.push.paths`: there are 101 patterns, but at most 100 are allowed",
        "`on.schedule`: there are 21 schedules, but at most 20 are allowed",
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("deploy", Concurrency("deploy")),
        ("{group: '${{ .trigger.branch }}', cancel: true}", Concurrency("${{ .trigger.branch }}", cancel=True)),
        ("", None),
    ],
)
def test_runs_of_a_flow_can_exclude_each_other(written: str, expected: Concurrency | None) -> None:
    assert read(f"concurrency: {written}{STEPS}").concurrency == expected


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{cancel: true}", "`concurrency` needs `group`"),
        ("{group: a, cancel: yes}", "`concurrency.cancel` must be `true` or `false`, not `yes`"),
        ("'${{ .trigger.branch'", "invalid template: the ${{ has no closing }}"),
        ("''", "`concurrency`: needs at least 1 character"),
    ],
)
def test_a_mistake_in_the_concurrency_of_a_flow_is_found(written: str, message: str) -> None:
    assert only_mistake(f"concurrency: {written}{STEPS}").message == message


# --- Values from outside ---------------------------------------------------------------------------------------------


def scripted(text: str) -> Flow:
    """The flow in `text`, with the real step types."""
    types = StepTypes()
    real = {name: types.find(name) for name in types.names}
    return read_flow(text, "flow.yaml", real, read_file=lambda path: "", parse_template=parse_template)


def refused(step: str, flow: str = "") -> list[Mistake]:
    try:
        scripted(f"{flow}steps:\n  - {step}\n")
    except BadFlow as error:
        return [each for each in error.found if each.message.startswith("`.trigger` must not be used in a script")]
    return []


@pytest.mark.parametrize(
    "step",
    [
        "run: echo ${{ .trigger.branch }}",
        "run: echo ${{ .trigger }}",
        'run: echo ${{ "x" + .trigger.branch }}',
        'run: echo ${{ "\\(.trigger.branch)" }}',
        'run: echo ${{ .["trigger"].branch }}',
        'run: echo ${{ ."trigger".branch }}',
        "run: echo ${{ {trigger} | tojson }}",
        'run: echo ${{ getpath(["trigger", "branch"]) }}',
        "{run: 'echo ${{ .trigger.branch }}', timeout: 5s, image: alpine}",
        "{run: x, shell: ['${{ .trigger.who }}', -c]}",
        "{uses: run, with: {script: 'echo ${{ .trigger.branch }}'}}",
        "{wait: {command: 'test ${{ .trigger.sha }}'}}",
        "{run: x, image: a, services: {db: {image: b, health: {command: 'ping ${{ .trigger.who }}'}}}}",
        "parallel: [{run: 'echo ${{ .trigger.branch }}'}]",
    ],
)
def test_a_script_must_not_contain_what_others_have_sent(step: str) -> None:
    (mistake,) = refused(step)

    assert mistake.line == 2
    assert mistake.text[mistake.column - 1 :].startswith("${{")
    assert mistake.hint is not None
    assert "BRANCH" in mistake.hint


@pytest.mark.parametrize(
    "step",
    [
        "{run: 'echo \"$B\"', env: {B: '${{ .trigger.branch }}'}}",
        '{run: x, if: .trigger.branch == "main"}',
        "{run: x, stdin: '${{ .trigger.payload }}'}",
        "{call: deploy.yaml, with: {branch: '${{ .trigger.branch }}'}}",
        "{http: 'http://localhost/${{ .trigger.sha }}'}",
        "{wait: {file: '${{ .trigger.sha }}'}}",
        "run: echo .trigger ${{ .inputs.trigger }} ${{ .steps.trigger.outputs.a }} ${{ .triggers }}",
        'run: echo ${{ .steps["trigger"].outputs.a }}',
        "{run: x, image: a, services: {db: {image: b, env: {B: '${{ .trigger.branch }}'}}}}",
    ],
)
def test_what_others_have_sent_can_be_used_where_no_shell_reads_it(step: str) -> None:
    assert refused(step) == []


def test_each_place_of_a_script_with_values_from_outside_is_found() -> None:
    script = "|\n      echo ${{ .vars.a }}\n      echo ${{ .trigger.ref }} ${{ .trigger.sha }}"

    assert [(each.line, each.column) for each in refused(f"run: {script}")] == [(4, 12), (4, 32)]


@pytest.mark.parametrize(
    ("expression", "is_refused"),
    [
        (".inputs.sha", True),
        ('.inputs["sha"]', True),
        (".inputs | .sha", True),
        (".inputs.greeting", False),
        (".steps.sha.outputs.a", False),
    ],
)
def test_a_script_must_not_contain_an_input_that_a_webhook_sets(expression: str, is_refused: bool) -> None:
    text = (
        "inputs: {sha: {}, greeting: {}}\n"
        f"steps:\n  - run: echo ${{{{ {expression} }}}}\n"
        "on: {webhook: {provider: github, inputs: {sha: .payload.after}}}\n"
    )
    try:
        scripted(text)
        found: list[Mistake] = []
    except BadFlow as error:
        found = list(error.found)

    assert [(each.line, each.message.partition(":")[0], each.hint) for each in found] == [
        (
            3,
            "`.inputs.sha` must not be used in a script",
            'set a variable, such as `env: {SHA: "${{ .inputs.sha }}"}`, and use `"$SHA"`',
        )
    ] * is_refused


def test_the_health_check_of_a_service_of_the_flow_is_a_script() -> None:
    services = "services: {db: {image: b, health: 'ping ${{ .trigger.who }}'}}\n"

    assert [each.line for each in refused("run: x", f"image: a\n{services}")] == [2]


# --- The schema ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    types = StepTypes()
    return flow_schema({name: types.find(name) for name in types.names})


GOOD = [
    {"on": "push"},
    {"on": ["push", "manual"]},
    {"on": {"push": None, "schedule": {"cron": "0 0 * * *"}}},
    {"on": {"push": {"branches": "main", "tags": ["v*"], "on_pass": "merge"}}},
    {"on": {"schedule": [{"cron": "0 0 * * *", "inputs": {"a": 1}}], "webhook": {"if": True, "inputs": {"a": ".b"}}}},
    {"concurrency": "deploy"},
    {"concurrency": {"group": "deploy", "cancel": True}},
]
BAD = [
    {"on": {"schedule": {"cron": "0 0 * * *", "on_pass": "merge"}}},
    {"on": {"schedule": None}},
    {"on": {"push": {"on_fail": "reject"}}},
    {"on": {"webhook": {"provider": "svn"}}},
    {"on": ["pull"]},
    {"on": "schedule"},
    {"concurrency": {"cancel": True}},
]


@pytest.mark.parametrize(("written", "is_valid"), [*((each, True) for each in GOOD), *((each, False) for each in BAD)])
def test_editors_accept_what_the_reader_accepts(
    written: dict[str, Any], is_valid: bool, schema: dict[str, Any]
) -> None:
    flow = {**written, "steps": [{"run": "x"}], "inputs": {"a": {"default": 1}}}

    assert jsonschema.Draft202012Validator(schema).is_valid(flow) == is_valid
    assert (mistakes_in(json.dumps(flow)) == ()) == is_valid


def test_a_cron_expression_needs_no_quotes() -> None:
    assert plain_value("30 2 * * 1-5") == "30 2 * * 1-5"
