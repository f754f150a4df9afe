"""What is too large in a flow is refused with its place, its number, its limit and the way out."""

import pytest

from pitstop.limits import DEFAULTS, NAME_CHARACTERS, VARIABLES, too_many_values
from tests.definition.flow_types import mistakes_in, only_mistake, read

NINE_AXES = ", ".join(f"k{axis}: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]" for axis in range(9))
LONG = "n" * (NAME_CHARACTERS + 1)


def names(count: int) -> str:
    return "{" + ", ".join(f"n{number}: {{}}" for number in range(count)) + "}"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (
            f"steps:\n  - matrix: {{{NINE_AXES}}}\n    steps: [{{run: x}}]",
            (2, 13),
            "the matrix has 1,000,000,000 combinations, but at most 1,000 are allowed: "
            "use fewer values, or raise PITSTOP_MATRIX_LIMIT",
        ),
        (
            "steps: [{repeat: {times: 100001, steps: [{run: x}]}}]",
            (1, 26),
            "the loop has 100,001 iterations, but at most 100,000 are allowed: "
            "end the loop earlier, or raise PITSTOP_ITERATION_LIMIT",
        ),
        (
            "steps:\n" + "  - run: x\n" * 10_001,
            (2, 3),
            "the flow, with those that it calls, has at least 10,001 steps, but at most 10,000 are allowed: "
            "split it into several flows, or raise PITSTOP_STEP_LIMIT",
        ),
        (
            "steps: [{run: x, retry: {times: 10001}}]",
            (1, 33),
            "`retry.times`: must be at most 10000",
        ),
        *(
            (
                f"{key}: {names(VARIABLES + 1)}\nsteps: [{{run: x}}]",
                (1, len(key) + 3),
                f"`{key}` has 10,001 names, but at most 10,000 are allowed: "
                "put them into lists or mappings, or read them from a file in a step",
            )
            for key in ("vars", "inputs", "env", "outputs")
        ),
        *(
            (text, (1, column), f"{owner}the name has 201 characters, but at most 200 are allowed: shorten it")
            for text, column, owner in (
                (f"vars: {{{LONG}: 1}}\nsteps: [{{run: x}}]", 8, ""),
                (f"name: {LONG}\nsteps: [{{run: x}}]", 7, "`name`: "),
                (f"steps: [{{run: x, id: {LONG}}}]", 22, "`id`: "),
                (f"steps: [{{run: x, name: {LONG}}}]", 24, "`name`: "),
                (f"steps: [{{group: {LONG}, steps: [{{run: x}}]}}]", 17, "`group`: "),
            )
        ),
        (
            "vars: {a: [" + "1, " * DEFAULTS.value_limit + "1]}\nsteps: [{run: x}]",
            (1, 11),
            "the flow, with the files that it includes, has more than 100,000 values after resolving aliases: "
            "split it into several flows, move data to a file, or raise PITSTOP_VALUE_LIMIT",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_flow_beyond_a_limit(text: str, place: tuple[int, int], message: str) -> None:
    mistake = only_mistake(text)
    assert mistake.message == message
    assert (mistake.line, mistake.column) == place


def test_steps_in_steps_and_in_included_files_are_counted_together() -> None:
    many = "- {run: x}\n" * 4_000
    text = "steps: [{include: a.yaml}, {group: [{include: a.yaml}]}, {include: a.yaml}]"
    assert "has at least 12,004 steps" in only_mistake(text, {"a.yaml": many}).message


@pytest.mark.parametrize("names", ["aaa", "abc"])
def test_the_values_of_included_files_are_counted_together(names: str) -> None:
    values = f"x-data: [{'1, ' * 40_000}]\nsteps: [{{run: x}}]"
    text = f"steps: [{', '.join(f'{{include: {name}.yaml}}' for name in names)}]"
    assert only_mistake(text, {f"{name}.yaml": values for name in names}).message == too_many_values(100_000)


@pytest.mark.parametrize(
    "step",
    [
        "{matrix: {a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], b: '${{ [range(1000)] }}'}, steps: [{run: x}]}",
        "{matrix: '${{ .vars.axes }}', steps: [{run: x}]}",
        "{repeat: {until: 'false', steps: [{run: x}]}}",
    ],
)
def test_what_is_computed_in_a_run_is_not_counted_before(step: str) -> None:
    assert len(read(f"steps: [{step}]").steps) == 1


def test_hints_about_very_many_unknown_keys_are_few() -> None:
    found = mistakes_in("steps: [{run: x}]\n" + "".join(f"stepz{number}: 1\n" for number in range(300)))
    assert [mistake.hint for mistake in found].count("did you mean `steps`?") == 100
