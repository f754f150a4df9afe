"""What a flow says of containers holds for its `run` steps, unless they say otherwise."""

from typing import Any

from pitstop.definition.containers import with_containers
from pitstop.definition.flow import StepSpec
from pitstop.definition.values import Source
from tests.definition.flow_types import mistakes_in, read

HERE = Source("flow.yaml", 1, 1, 1)


def run(children: tuple[StepSpec, ...] = (), kind: str = "run", **config: Any) -> StepSpec:
    return StepSpec(kind=kind, source=HERE, config=config, children=children)


def test_a_step_has_the_image_of_its_flow_wherever_it_stands() -> None:
    flow = read("""\
        image: golang:1.25
        steps:
          - run: make
          - parallel:
              - run: make test
              - {run: make docs, image: sphinx}
              - {run: make release, image: null}
        cleanup:
          - run: make clean
        """)

    parallel = flow.steps[1]
    assert flow.steps[0].config["image"] == "golang:1.25"
    assert [child.config.get("image") for child in parallel.children] == ["golang:1.25", "sphinx", None]
    assert flow.cleanup[0].config["image"] == "golang:1.25"


def test_a_step_on_this_machine_has_nothing_of_containers() -> None:
    steps = (run(script="a"), run(script="b", image=None), run(kind="sleep"))

    assert with_containers(steps, {"memory": "1g", "services": {"db": {"image": "postgres"}}}) == steps


def test_services_of_the_flow_are_shared_and_come_beside_those_of_the_step() -> None:
    defaults = {"image": "go", "cpus": 2, "services": {"db": {"image": "postgres"}, "cache": {"image": "redis"}}}

    plain, own = with_containers((run(), run(cpus=1, services={"db": {"image": "mysql"}})), defaults)

    shared = {"db": {"image": "postgres", "shared": True}, "cache": {"image": "redis", "shared": True}}
    assert plain.config == {"image": "go", "cpus": 2, "services": shared}
    assert own.config == {"image": "go", "cpus": 1, "services": {**shared, "db": {"image": "mysql"}}}


def test_what_a_flow_says_of_containers_is_checked_where_it_stands() -> None:
    (mistake,) = mistakes_in("image: 3\nsteps: [{run: x}]")

    assert (mistake.line, mistake.column) == (1, 8)
    assert "`image` must be text" in mistake.message
