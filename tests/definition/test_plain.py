"""What is plainly right is what the models say is right, and means the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pitstop.definition.flow import Flow, StepSpec
from pitstop.definition.forms import FlowForm, StepForm
from pitstop.definition.plain import COMMON_KEYS, FLOW_KEYS, plain_flow, plain_step
from pitstop.definition.values import Source

HERE = Source("flow.yaml", 1, 1, 1)
STEPS = (StepSpec(kind="run", source=HERE, config={"script": "make"}),)
VALUES = st.one_of(
    st.sampled_from(["build", "a b", "", "1m30s", "90", "soon", ".inputs.x", "${{ .x }}"]),
    st.sampled_from([True, False, None, 0, -1, 2.5, [], ["a"], {}, {"A": "1"}]),
)
INPUTS = st.dictionaries(
    st.sampled_from(["default", "description", "required", "type"]),
    st.sampled_from(["text", "string", 3, True, None, ["a"]]),
)


def test_the_keys_are_those_of_the_models() -> None:
    assert {field.alias or name for name, field in StepForm.model_fields.items()} == COMMON_KEYS
    assert {field.alias or name for name, field in FlowForm.model_fields.items()} == FLOW_KEYS


@given(st.dictionaries(st.sampled_from(["id", "name", "if", "timeout", "continue_on_error", "retry"]), VALUES))
def test_plain_options_of_a_step_mean_what_the_model_says(values: dict[str, Any]) -> None:
    plain = plain_step(values)

    if plain is not None:
        modelled = StepForm.model_validate(values).options()
        assert StepSpec(kind="run", source=HERE, **plain) == StepSpec(kind="run", source=HERE, **modelled)


@given(
    st.dictionaries(st.sampled_from(["name", "timeout", "vars", "outputs"]), VALUES),
    st.none() | st.dictionaries(st.sampled_from(["x", "y"]), st.none() | INPUTS),
)
def test_a_plain_flow_means_what_the_model_says(values: dict[str, Any], inputs: dict[str, Any] | None) -> None:
    values = {**values, "steps": STEPS, **({} if inputs is None else {"inputs": inputs})}
    plain = plain_flow(values)

    if plain is not None:
        modelled = FlowForm.model_validate(values).options()
        assert Flow(source=HERE, **{"name": None, **plain}) == Flow(source=HERE, **modelled)


@pytest.mark.parametrize("values", [{"id": "2b"}, {"timeout": "soon"}, {"retry": {"times": 2}}, {"if": True}])
def test_what_is_not_plain_is_left_to_the_model(values: dict[str, Any]) -> None:
    assert plain_step(values) is None


@pytest.mark.parametrize("values", [{"id": "a", "timeout": "2m"}, {"name": "n", "if": ".x", "continue_on_error": True}])
def test_the_usual_is_plain(values: dict[str, Any]) -> None:
    assert plain_step(values) is not None


@given(st.dictionaries(st.sampled_from(sorted(COMMON_KEYS - {"env"})), VALUES))
def test_a_mistake_is_never_plain(values: dict[str, Any]) -> None:
    try:
        StepForm.model_validate(values)
    except ValidationError:
        assert plain_step(values) is None
