"""The JSON Schema of flow files: what an editor accepts, the reader accepts too."""

import json
from typing import Any

import pytest

from pitstop.definition.flow import StepTypeInfo
from pitstop.definition.mistakes import Mistakes
from pitstop.definition.plain import COMMON_KEYS
from pitstop.definition.schema import DIALECT, flow_schema
from pitstop.definition.step_kinds import step_kinds
from pitstop.definition.yaml_nodes import read_document
from tests.definition.flow_types import STEP_TYPES, Config, Type, mistakes_in
from tests.definition.test_flow_reader import CHECKOUT

GOOD_STEPS = [
    "{run: x}",
    "{run: x, id: a, if: true, env: {A: 1}, timeout: 1h30m, retry: {times: 2, delay: 500ms}, requires: {has: [a]}}",
    "{run: x, on_interrupt: fail}",
    "{run: x, workspace: fresh, on_success: stop, on_failure: pause, effects: external, snapshot: true}",
    "{http: {url: x, retries: 3}}",
    "{http: {url: x}, retries: 3}",
    "{http: x, retries: '${{ .n }}', verify: '${{ .v }}', codes: ['${{ .c }}', 200], expect: {status: '${{ .s }}'}}",
    "{http: x, check: .ready}",
    "{wait: {port: 80}}",
    "{wait: , port: 80}",
    "{python: 'a:b', with: {fast: true}}",
    "{uses: run, with: {script: x}}",
    "{uses: wait}",
    "{include: x.yaml}",
    "{call: x.yaml, with: {a: 1}}",
    "{parallel: [{run: x}], fail_fast: true}",
    "{parallel: {branches: [{run: x}], succeed: 2}}",
    "{uses: parallel, with: {branches: [{run: x}]}}",
    "{matrix: {a: [1, 2]}, steps: [{run: x}], parallel: true, max_parallel: 2}",
    "{matrix: '${{ .axes }}', steps: [{run: x}]}",
    "{matrix: {a: '${{ .values }}'}, steps: [{run: x}]}",
    "{background: [{run: x}], steps: [{run: y}]}",
    "{repeat: {times: 3, every: 2s}, steps: [{run: x}]}",
    "{repeat: {until: .a, steps: [{run: x}]}}",
    "{group: [{run: x}]}",
    "{group: Build, steps: [{run: x}]}",
    "{steps: [{run: x}]}",
    "{choose: [{if: .a, run: x}, {run: y}]}",
]
BAD_STEPS = [
    "{}",
    "make",
    "{rnu: x}",
    "{run: 5}",
    "{run: x, wait: {}}",
    "{run: x, shel: sh}",
    "{run: x, id: two words}",
    "{run: x, timeout: soon}",
    "{run: x, retry: {dely: 2s}}",
    "{run: x, workspace: clean}",
    "{run: x, on_failure: nxt}",
    "{run: x, on_success: merge}",
    "{run: x, on_failure: 'merge:main'}",
    "{run: x, on_success: fix}",
    "{run: x, on_interrupt: never}",
    "{run: x, continue_on_error: yes}",
    "{http: {retries: 3}}",
    "{http: x, retries: 10}",
    "{http: x, expect: {satus: 1}}",
    "{wait: 8080}",
    "{agent: writer}",
    "{uses: run}",
    "{uses: nothing, with: {}}",
    "{include: x.yaml, if: .a}",
    "{parallel: []}",
    "{parallel: [{rnu: x}]}",
    "{matrix: {a: []}, steps: [{run: x}]}",
    "{matrix: {a: [1]}}",
    "{repeat: {times: 3}}",
    "{group: Build}",
]
GOOD_FLOWS = [
    CHECKOUT,
    "x-mine: 1\nsteps: [{run: x}]",
    "on: push\nsteps: [{run: x}]",
    "on: [push, manual]\nsteps: [{run: x}]",
    "on: {push: }\nsteps: [{run: x}]",
    "inputs: {a: , b: {type: number, default: 3}}\nsteps: [{run: x}]",
]
BAD_FLOWS = ["name: x", "nmae: x\nsteps: [{run: x}]", "on: pusj\nsteps: [{run: x}]", "steps: []", "- run: x"]

good = [*GOOD_FLOWS, *(f"steps: [{step}]" for step in GOOD_STEPS)]
bad = [*BAD_FLOWS, *(f"steps: [{step}]" for step in BAD_STEPS)]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return flow_schema(STEP_TYPES)


def as_json(text: str) -> Any:
    """A file as an editor sees it."""
    document = read_document("flow.yaml", text, Mistakes())
    assert document is not None
    assert document.root is not None
    return document.value(document.root)


@pytest.mark.parametrize("text", good)
def test_the_reader_takes_what_the_schema_takes(text: str) -> None:
    assert mistakes_in(text, {"x.yaml": "- run: x"}) == ()


@pytest.mark.parametrize("text", bad)
def test_the_reader_refuses_what_the_schema_refuses(text: str) -> None:
    assert mistakes_in(text)


@pytest.mark.parametrize("text", good)
def test_an_editor_accepts_a_good_flow(schema: dict[str, Any], text: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(as_json(text))


@pytest.mark.parametrize("text", bad)
def test_an_editor_marks_a_bad_flow(schema: dict[str, Any], text: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    assert not jsonschema.Draft202012Validator(schema).is_valid(as_json(text))


def test_the_schema_is_json_and_every_reference_in_it_leads_somewhere(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == DIALECT
    references = {part["$ref"] for part in _parts(json.loads(json.dumps(schema))) if "$ref" in part}
    assert references
    for reference in references:
        target: Any = schema
        for name in reference.removeprefix("#/").split("/"):
            target = target[name]


def test_every_kind_of_step_can_be_completed_in_both_its_forms(schema: dict[str, Any]) -> None:
    titles = [variant["title"] for variant in schema["$defs"]["step"]["anyOf"]]
    kinds = step_kinds(STEP_TYPES)
    assert sorted(titles) == sorted([*kinds, *(f"uses: {kind}" for kind in kinds), "include"])


def test_a_step_has_the_fields_of_its_type_and_those_of_every_step(schema: dict[str, Any]) -> None:
    (run,) = [variant for variant in schema["$defs"]["step"]["anyOf"] if variant["title"] == "run"]
    assert run["additionalProperties"] is False
    assert set(run["properties"]) == {"run", "script", "image", "shell", "tests"} | COMMON_KEYS
    assert run["description"] == "Run a script."
    assert schema["$defs"]["config.RunConfig"]["properties"]["script"]["description"] == "What to run."


def test_two_types_may_have_models_of_the_same_name() -> None:
    def make(name: str, field: str) -> StepTypeInfo:
        inner = type("Inner", (Config,), {"__annotations__": {field: str}})
        return Type(name, type(f"{name}Config", (Config,), {"__annotations__": {"inner": inner}}), None)

    schema = flow_schema({"one": make("one", "a"), "two": make("two", "b")})
    inner = [each["properties"] for name, each in schema["$defs"].items() if "Inner" in name]
    assert sorted(key for properties in inner for key in properties) == ["a", "b"]


def _parts(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, dict):
        return [schema, *(part for each in schema.values() for part in _parts(each))]
    return [part for each in schema for part in _parts(each)] if isinstance(schema, list) else []
