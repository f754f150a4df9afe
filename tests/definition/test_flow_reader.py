"""What a flow file says, and what it becomes."""

import gc
import json
from typing import Any
from weakref import ReferenceType, ref

import pytest

from pitstop.definition import yaml_reader
from pitstop.definition.flow import Flow, InputSpec, Position, StepSpec
from pitstop.definition.values import Retry, Source
from pitstop.definition.yaml_nodes import Document, read_document
from tests.definition.flow_types import read

CHECKOUT = """\
name: checkout-service
inputs:
  python: {default: "3.12", description: Which interpreter}
vars:
  region: eu
env: {CI: "1"}
timeout: 30m
on:
  push: {branches: [main, "release/*"]}
  card_complete: {on_pass: merge, on_fail: reject}
steps:
  - id: deps
    name: Install
    run: uv sync
  - parallel:
      - {id: lint, run: ruff check .}
      - id: tests
        run: pytest -q --junitxml=reports/junit.xml
        timeout: 10m
        tests: reports/*.xml
  - id: package
    image: golang:1.23
    run: go build -o dist/app && echo "tag=$(git rev-parse HEAD)" >> "$PITSTOP_OUTPUT"
    if: ${{ .steps.tests.status == "passed" }}
  - matrix: {db: [sqlite, postgres]}
    parallel: true
    steps:
      - run: make e2e DB=${{ .matrix.db }}
  - background:
      - run: ./dist/app --port 8080
    steps:
      - run: ./smoke.sh
  - repeat: {until: '.steps.poll.outputs.ready', every: 2s, times: 30}
    steps: [{id: poll, run: ./poll.sh}]
  - agent: writer
    prompt: Write release notes for ${{ .steps.package.outputs.tag }}
  - call: flows/deploy.yaml
    with: {tag: "${{ .steps.package.outputs.tag }}"}
cleanup:
  - run: docker compose down
"""


@pytest.fixture(scope="module")
def checkout() -> Flow:
    return read(CHECKOUT)


def step(written: str) -> StepSpec:
    """The one step of a flow."""
    (only,) = read(f"steps:\n  - {written}\n").steps
    return only


def test_a_flow_is_read_with_all_that_is_in_it(checkout: Flow) -> None:
    assert checkout.name == "checkout-service"
    assert checkout.inputs == {"python": InputSpec("3.12", "Which interpreter", required=False, type="string")}
    assert (checkout.vars, checkout.env, checkout.timeout_seconds) == ({"region": "eu"}, {"CI": "1"}, 1800.0)
    assert list(checkout.on) == ["push", "card_complete"]
    assert [each.kind for each in checkout.steps] == [
        "run", "parallel", "run", "matrix", "background", "repeat", "agent", "call",
    ]  # fmt: skip
    assert [each.config for each in checkout.cleanup] == [{"script": "docker compose down"}]


def test_every_step_knows_its_place(checkout: Flow) -> None:
    deps, parallel, package, *_ = checkout.steps
    assert deps.source == Source("flow.yaml", line=12, column=5, end_line=14)
    assert parallel.source == Source("flow.yaml", line=15, column=5, end_line=20)
    assert [child.source.line for child in parallel.children] == [16, 17]
    assert package.positions == {"image": Position(22, 12), "script": Position(23, 10)}


def test_the_last_line_of_a_step_is_its_own_and_not_where_the_next_begins() -> None:
    flow = read("steps:\n  - run: |\n      one\n      two\n\n  # a comment\n\n  - run: three\n")
    assert [(each.source.line, each.source.end_line) for each in flow.steps] == [(2, 5), (8, 8)]


def test_the_ways_of_combining_are_told_what_the_engine_wants_to_know(checkout: Flow) -> None:
    _, _, _, matrix, background, repeat, _, call = checkout.steps
    assert matrix.config == {"matrix": {"db": ["sqlite", "postgres"]}, "parallel": True}
    assert repeat.config == {"until": ".steps.poll.outputs.ready", "times": 30, "every_seconds": 2.0}
    assert call.config == {"call": "flows/deploy.yaml", "with": {"tag": "${{ .steps.package.outputs.tag }}"}}
    beside, *foreground = background.children
    assert (beside.kind, [child.config["script"] for child in beside.children]) == (
        "sequence",
        ["./dist/app --port 8080"],
    )
    assert [child.config["script"] for child in foreground] == ["./smoke.sh"]


@pytest.mark.parametrize(
    "written",
    [
        "{run: make, shell: sh}",
        "{run: {script: make, shell: sh}}",
        "{run: {script: make}, shell: sh}",
        "{uses: run, with: {script: make, shell: sh}}",
    ],
)
def test_a_step_can_be_written_short_and_long(written: str) -> None:
    read_back = step(written)
    assert (read_back.kind, read_back.config) == ("run", {"script": "make", "shell": "sh"})


@pytest.mark.parametrize(
    "written",
    [
        "{parallel: [{run: a}, {run: b}], succeed: any, fail_fast: true}",
        "{parallel: {branches: [{run: a}, {run: b}], succeed: any, fail_fast: true}}",
        "{uses: parallel, with: {branches: [{run: a}, {run: b}], succeed: any, fail_fast: true}}",
    ],
)
def test_the_ways_of_combining_can_be_written_short_and_long_too(written: str) -> None:
    parallel = step(written)
    assert (parallel.kind, parallel.config) == ("parallel", {"succeed": "any", "fail_fast": True})
    assert [child.config["script"] for child in parallel.children] == ["a", "b"]


@pytest.mark.parametrize(
    ("written", "name"),
    [("{steps: [{run: a}]}", None), ("{group: [{run: a}]}", None), ("{group: Build, steps: [{run: a}]}", "Build")],
)
def test_a_group_is_a_sequence(written: str, name: str | None) -> None:
    group = step(written)
    assert (group.kind, group.name, len(group.children)) == ("sequence", name, 1)


def test_choose_takes_steps_with_conditions_and_an_else() -> None:
    choose = step("{choose: [{if: .a, run: x}, {if: .b, steps: [{run: y}]}, {run: z}]}")
    assert choose.kind == "conditional"
    assert [(child.kind, child.condition) for child in choose.children] == [
        ("run", ".a"),
        ("sequence", ".b"),
        ("run", None),
    ]


def test_a_key_that_is_also_a_step_type_belongs_to_the_type_that_has_it_as_a_field() -> None:
    assert step('{http: "http://localhost", check: .ready}').config == {"url": "http://localhost", "check": ".ready"}


def test_a_type_without_a_shorthand_takes_a_mapping() -> None:
    assert step("{wait: {port: 8080}}").config == step("{wait: , port: 8080}").config == {"port": 8080}


def test_a_field_has_the_name_that_is_written() -> None:
    assert step('{python: "tools:build", with: {fast: true}}').config == {"call": "tools:build", "with": {"fast": True}}


def test_every_step_takes_the_same_options() -> None:
    options = step(
        "{run: x, id: a, name: A, if: true, env: {V: 1.10, E: }, timeout: 1h30m, retry: {times: 2, delay: 500ms}, "
        "continue_on_error: true, requires: {has: [gpio]}, workspace: fresh, on_success: stop, "
        "on_failure: pause, on_interrupt: pause, effects: external, snapshot: true}"
    )
    assert (options.id, options.name, options.condition) == ("a", "A", "true")
    assert options.env == {"V": "1.10", "E": ""}  # as it is written, for an environment is text
    assert (options.timeout_seconds, options.retry) == (5400.0, Retry(2, 0.5))
    assert (options.continue_on_error, options.workspace, options.effects) == (True, "fresh", "external")
    assert (options.on_success, options.on_failure, options.snapshot) == ("stop", "pause", True)
    assert options.on_interrupt == "pause"
    assert options.requires == options.config["requires"] == {"has": ["gpio"]}  # `run` has a field of that name


def test_a_template_is_a_value_of_any_field_until_it_is_known() -> None:
    config = step(
        '{http: "${{ .u }}", retries: "${{ .n }}", codes: ["${{ .c }}"], expect: {status: "${{ .s }}"}}'
    ).config
    assert config["retries"] == "${{ .n }}"


@pytest.mark.parametrize(
    "jq",
    [
        ".a",
        ' .a == "}" ',
        "{a: 1} | .a",
        '"\\\\(.a)" == "x" # why',
        '${{ .a == "${{" }}',
        "${{ {a: {b: 1}} | .a.b }}",
        "not",
    ],
)
def test_a_condition_is_jq_with_or_without_its_braces(jq: str) -> None:
    assert step(f"{{run: x, if: {json.dumps(jq)}}}").condition == jq


def test_a_dollar_before_it_takes_the_meaning_of_a_template_away() -> None:
    assert step("{run: 'echo $${{ ${{ .a }}'}").config == {"script": "echo $${{ ${{ .a }}"}


def test_scalars_are_those_of_yaml_1_2() -> None:
    written = "{a: on, b: yes, c: 12:30:45, d: 2024-01-31, e: true, f: ~, g: 0o17, h: 1e3, i: 010, j: '5', k: !!str 5}"
    assert read(f"vars: {written}\nsteps: [{{run: x}}]").vars == {
        "a": "on", "b": "yes", "c": "12:30:45", "d": "2024-01-31", "e": True, "f": None,
        "g": 15, "h": 1000.0, "i": 10, "j": "5", "k": "5",
    }  # fmt: skip


def test_anchors_aliases_and_merge_keys_work() -> None:
    flow = read(
        """
x-base: &base {timeout: 5s, env: {A: "1"}}
steps:
  - <<: *base
    run: first
  - <<: [*base, {shell: sh}]
    timeout: 9s
    run: &script second
  - run: *script
"""
    )
    first, second, third = flow.steps
    assert (first.timeout_seconds, first.env, second.timeout_seconds) == (5.0, {"A": "1"}, 9.0)
    assert (second.config, third.config) == ({"script": "second", "shell": "sh"}, {"script": "second"})


def test_an_include_is_replaced_by_the_steps_of_its_file() -> None:
    files = {
        "ci/lint.yaml": "- {id: lint, run: ruff}\n- include: more/types.yaml\n",
        "ci/more/types.yaml": "steps: [{run: mypy}]",
    }
    flow = read("steps: [{run: a}, {include: lint.yaml}, {run: z}]", files, file="ci/flow.yaml")
    assert [each.config["script"] for each in flow.steps] == ["a", "ruff", "mypy", "z"]
    assert [each.source.file for each in flow.steps[1:3]] == ["ci/lint.yaml", "ci/more/types.yaml"]
    assert set(flow.texts) == {"ci/flow.yaml", *files}


def test_a_flow_without_a_name_is_called_like_its_file() -> None:
    assert read("steps: [{run: x}]", file="flows/deploy.yaml").name == "deploy"


def test_an_input_without_a_default_must_be_given() -> None:
    inputs = read("inputs: {a: , b: {default: 1}, c: {required: false}, d: {type: object}}\nsteps: [{run: x}]").inputs
    assert [(each.required, each.type) for each in inputs.values()] == [
        (True, None), (False, "number"), (False, None), (True, "object"),
    ]  # fmt: skip


def test_reading_leaves_the_garbage_collector_as_it_was() -> None:
    assert gc.isenabled()
    read(CHECKOUT)
    assert gc.isenabled()


def test_the_nodes_of_a_file_are_let_go_of_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without waiting for the collector, which may not look for a long time."""
    kept: list[ReferenceType[Document]] = []

    def read_and_watch(*given: Any) -> Document | None:
        document = read_document(*given)
        assert document is not None
        kept.append(ref(document))
        return document

    monkeypatch.setattr(yaml_reader, "read_document", read_and_watch)
    gc.disable()
    try:
        read("steps: [{run: 'echo ${{ .vars.a }}'}]\nvars: {a: 1}")
        assert [each() for each in kept] == [None]
    finally:
        gc.enable()
