"""Steps as values: those that a log keeps."""

from pitstop.definition.values import Retry
from pitstop.plan.plan import Step, injected_again, more_of


def test_an_injected_step_is_the_same_again_from_what_a_log_keeps_of_it() -> None:
    child = Step("a+1.x", "run", {"script": "echo ${{ .vars.n }}"}, retry=Retry(2, 0.5), condition=".vars.n > 1")
    step = Step(
        "a+1",
        "parallel",
        {"fail_fast": True},
        (child,),
        id="both",
        env={"A": "b"},
        timeout_seconds=3.0,
        is_injected=True,
    )

    again = injected_again(step.path, step.kind, step.config, step.id, more_of(step))

    assert (again.config, again.id, again.env, again.is_injected) == (step.config, "both", {"A": "b"}, True)
    assert (again.timeout_seconds, more_of(again)) == (3.0, more_of(step))
    (inside,) = again.children
    assert (inside.path, inside.config, inside.retry, inside.condition) == (
        child.path,
        child.config,
        child.retry,
        child.condition,
    )
    assert inside.is_templated
    assert more_of(Step("a+2", "run", {"script": "ls"}, id="look", is_injected=True)) == {}
