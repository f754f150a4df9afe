import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pitstop.errors import BrokenStepType, UnknownStepType
from pitstop.steps.reference import describe_fields, help_for
from pitstop.steps.registry import BUILT_IN, StepTypes, find_step_types
from tests.steps.bench import Bench

PLUGIN = """
from pydantic import BaseModel

class Greet:
    name = "greet"
    summary = "Greet somebody."
    shorthand_field = "whom"

    class Config(BaseModel):
        whom: str

    def __init__(self, workplace):
        self.workplace = workplace

    async def act(self, activation, config):
        return {"greeting": f"hello {config['whom']}"}

class Unmakeable(Greet):
    name = "unmakeable"

    def __init__(self, workplace):
        raise RuntimeError("no luck")

class Nameless(Greet):
    name = "other"

class Undescribed(Greet):
    name = "undescribed"
    summary = None

class Unconfigured(Greet):
    name = "unconfigured"
    Config = dict

class Lost(Greet):
    name = "lost"
    shorthand_field = "nowhere"

class Plain(Greet):
    name = "plain"

    def act(self, activation, config): ...
"""


def install(folder: Path, package: str, entry_points_of_it: Mapping[str, str]) -> None:
    """Make a package known in this folder, as an installer would."""
    metadata = folder / f"{package}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in entry_points_of_it.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[pitstop.step_types]", *lines]))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "greeting_plugin.py").write_text(PLUGIN)
    (folder / "broken_plugin.py").write_text("import no_such_library\n")
    (folder / "leaving_plugin.py").write_text("raise SystemExit(1)\n")
    monkeypatch.syspath_prepend(folder)
    yield folder
    for module in ("greeting_plugin", "broken_plugin", "leaving_plugin"):
        monkeypatch.delitem(sys.modules, module, raising=False)


def test_our_own_types_need_no_installed_package() -> None:
    types = StepTypes()

    assert types.names == tuple(BUILT_IN)
    assert list(types.usable()) == list(BUILT_IN)


async def test_a_package_can_add_a_type(site: Path, bench: Bench) -> None:
    install(site, "greeting", {"greet": "greeting_plugin:Greet"})
    types = find_step_types()

    assert types.problems == ()
    assert types.find("greet").summary == "Greet somebody."
    assert await bench.outputs("greet", {"whom": "you"}, step_types=types) == {"greeting": "hello you"}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("broken", "broken_plugin:Step", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("leaving", "leaving_plugin:Step", "SystemExit: 1"),
        ("absent", "greeting_plugin:Absent", "AttributeError"),
        ("nameless", "greeting_plugin:Nameless", "its `name` is 'other', not 'nameless'"),
        ("undescribed", "greeting_plugin:Undescribed", "it has no `summary`"),
        ("unconfigured", "greeting_plugin:Unconfigured", "its `Config` is not a pydantic model"),
        ("lost", "greeting_plugin:Lost", "its `shorthand_field` 'nowhere' is not a field"),
        ("plain", "greeting_plugin:Plain", "it has no `async def act"),
        ("module", "greeting_plugin", "it is not a class but a module"),
        ("run", "greeting_plugin:Greet", "Pitstop already has a built-in step type with that name"),
    ],
)
def test_a_broken_type_is_told_with_its_package_and_hinders_no_other(
    site: Path, name: str, value: str, told: str
) -> None:
    install(site, "greeting", {"greet": "greeting_plugin:Greet"})
    install(site, "trouble", {name: value})
    types = find_step_types()

    (problem,) = types.problems
    assert f"step type {name!r} of package 'trouble' ({value}) cannot be used" in str(problem)
    assert told in str(problem)
    assert list(types.usable()) == [*BUILT_IN, "greet"]


def test_of_two_types_with_one_name_none_is_chosen(site: Path) -> None:
    install(site, "greeting", {"greet": "greeting_plugin:Greet"})
    install(site, "manners", {"greet": "greeting_plugin:Greet"})

    with pytest.raises(BrokenStepType) as refused:
        find_step_types().find("greet")
    assert "'greeting'" in str(refused.value)
    assert "'manners'" in str(refused.value)


def test_a_type_that_cannot_be_made_for_a_run_is_told(site: Path, bench: Bench) -> None:
    install(site, "greeting", {"unmakeable": "greeting_plugin:Unmakeable"})

    with pytest.raises(BrokenStepType, match="cannot instantiate it: RuntimeError: no luck"):
        find_step_types().for_run(bench.workplace, ["unmakeable"])


def test_an_unknown_type_is_told_with_the_nearest_one() -> None:
    with pytest.raises(UnknownStepType, match="unknown step type 'rnu'; did you mean 'run'"):
        StepTypes().find("rnu")


# --- Help and reference ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_field_of_every_type_is_explained(name: str) -> None:
    step_type = StepTypes().find(name)
    help_text = help_for(step_type)

    assert step_type.Config.model_config["extra"] == "forbid"
    assert step_type.Config.model_config["frozen"] is True
    assert "\n" not in step_type.summary
    assert help_text.startswith(f"{name}: {step_type.summary}\n")
    for field in describe_fields(step_type):
        assert field.description.endswith((".", ")", ">"))
        assert field.kind
        assert f"\n  {field.name}  (" in help_text


def test_a_field_is_described_as_it_is_written() -> None:
    types = StepTypes()
    described = {
        (name, field.name): (field.kind, field.default)
        for name in ("run", "http", "python")
        for field in describe_fields(types.find(name))
    }

    assert described["run", "accept"] == ("number or list of number", "[0]")
    assert described["http", "request_timeout"] == ("duration", "30s")
    assert described["python", "with"][0] == "mapping"
