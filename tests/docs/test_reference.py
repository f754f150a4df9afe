"""What is made from the models and tables is what they say now."""

from pathlib import Path
from typing import get_args

import pytest

import pitstop
from docs.reference.generate import PAGES, made_page
from pitstop.__main__ import COMMANDS
from pitstop.definition.combining_forms import COMBINING_FORMS
from pitstop.events.types import AnyEvent
from pitstop.steps.registry import BUILT_IN


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_not_stale(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == made_page(text), "run .venv/bin/python docs/reference/generate.py"


def test_the_flow_file_page_has_every_kind_of_step() -> None:
    text = PAGES[0].read_text(encoding="utf-8")
    assert [key for key in (*COMBINING_FORMS, *BUILT_IN) if f"\n### `{key}`\n" not in text] == []


def test_the_command_line_page_has_every_command() -> None:
    text = PAGES[1].read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"\n## `pitstop {name}`\n" not in text] == []
    assert "--debug-on-error" in text


def test_the_python_page_has_every_public_name_and_method() -> None:
    text = PAGES[2].read_text(encoding="utf-8")
    assert [name for name in pitstop.__all__ if f"\n## `{name}`\n" not in text] == []
    assert "\n### `Session.step_over`\n" in text
    assert "on_interrupt: OnInterrupt = 'repeat'" in text


def test_the_events_page_explains_every_kind_and_lists_its_fields() -> None:
    text = PAGES[3].read_text(encoding="utf-8")
    assert [kind for kind in get_args(AnyEvent) if f"`{kind.__name__}`: {kind.__doc__.split()[0]}" not in text] == []
    assert "| `targets` | `tuple[str, ...]` | the names of the nodes |" in text


def test_a_change_of_a_model_makes_a_page_stale() -> None:
    text = "<!-- made: retry -->\n\nsomething else\n\n<!-- end -->\n"
    assert "| `times` | number | required |" in made_page(text)


def test_an_example_that_has_changed_makes_a_page_stale() -> None:
    assert "tabnanny" in made_page("```yaml examples/broken/flow.yaml\nname: old\n```\n")
