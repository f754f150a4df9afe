"""Which logs a flow reads, as far as its text shows it."""

import pytest

from pitstop.plan.log_readers import logs_read_by, with_log_readers
from pitstop.plan.plan import Step


@pytest.mark.parametrize(
    ("expression", "ids"),
    [
        (".steps.test.log", ["test"]),
        ('.steps["unit-tests"].log', ["unit-tests"]),
        ('.steps."unit-tests"["log"]', ["unit-tests"]),
        ('."steps".test."log"', ["test"]),
        ("say ${{ .steps.a.log }} and ${{ (.steps.b.log | length) }}", ["a", "b"]),
        ('"\\(.steps.test.log)"', ["test"]),
        (".steps.log.log", ["log"]),
        (".steps.test.outputs.log", []),
        (".steps.test.logs", []),
        (".inputs.steps.test.log", []),
        (".steps[$id].log", []),
        (".steps | .test.log", []),
    ],
)
def test_a_log_is_read_by_a_plain_path(expression: str, ids: list[str]) -> None:
    assert list(logs_read_by(expression)) == ids


def marks(*steps: Step, env: dict[str, object] | None = None, text: str = "log") -> dict[str, tuple[bool, bool]]:
    """For each step, whether an expression reads its log, and whether its commands get the logs of others as files."""
    root = with_log_readers(Step("", "sequence", children=steps), [text], env or {})
    return {step.path: (step.is_log_read, step.fills_context) for step in root.walk() if step is not root}


@pytest.mark.parametrize(
    "reader",
    [
        Step("b", "run", {"script": "x"}, env={"LOG": "${{ .steps.a.log }}"}),
        Step("b", "run", {"script": "x"}, condition='.steps.a.log | contains("x")'),
        Step("b", "check", {"expression": '.steps.a.log == ""'}),
        Step("b", "call", {"with": {"log": ["${{ .steps.a.log }}"]}}),
        Step("b", "repeat", {"until": '.steps.a.log != ""'}),
    ],
    ids=lambda step: str(step.kind),
)
def test_only_a_step_that_is_named_has_its_log_read(reader: Step) -> None:
    assert marks(Step("a", "run", id="a"), Step("other", "run", id="other"), reader) == {
        "a": (True, False),
        "other": (False, False),
        "b": (False, False),
    }


def test_a_log_can_be_read_by_the_environment_of_the_flow_or_by_its_cleanup() -> None:
    cleanup = Step("end", "run", env={"LOG": "${{ .steps.deep.log }}"})
    deep = Step("g", "sequence", children=(Step("g.deep", "run", id="deep"),), cleanup=(cleanup,))

    assert marks(deep)["g.deep"] == (True, False)
    assert marks(Step("a", "run", id="a"), env={"LOG": "${{ .steps.a.log }}"})["a"] == (True, False)


@pytest.mark.parametrize(
    "reader",
    [
        Step("b", "run", {"script": 'cat "$PITSTOP_CONTEXT/a.log"'}),
        Step("b", "run", {"script": "x"}, env={"LOGS": "$PITSTOP_CONTEXT"}),
        Step("b", "agent", {"prompt": "Repair it"}),
    ],
    ids=["script", "env", "agent"],
)
def test_every_step_gets_the_logs_of_others_if_one_names_the_folder_or_is_an_agent(reader: Step) -> None:
    text = "agent: PITSTOP_CONTEXT"

    assert marks(Step("a", "run", id="a"), Step("2", "run"), reader, text=text) == dict.fromkeys(
        ("a", "2", "b"), (False, True)
    )


def test_a_flow_that_reads_no_log_is_left_as_it_is() -> None:
    root = Step("", "sequence", children=(Step("a", "run", {"script": "git log > .steps.log"}, id="a"),))

    assert with_log_readers(root, ["git log"], {}) is root
    assert with_log_readers(root, ["nothing"], {}) is root
