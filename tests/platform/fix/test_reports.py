"""A debug report is what the next agent works by: it is asked for until it has all its parts."""

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some
from markdown_it import MarkdownIt

from pitstop.platform.fix.reports import (
    REPORT_BYTES,
    Named,
    Report,
    Value,
    is_report_path,
    named_in,
    next_number,
    read_report,
    report_path,
    report_without_diagnosis,
    with_front_matter,
    with_status,
)

PATH = "debug/phase1_failures/001_config_initialization.md"
REPORT = """\
# Config is read before it is there

## Failure

`tests/test_start.py::test_start` fails with KeyError.

## Root cause

The config file is not initialized
before the first test runs.

## Evidence

```
KeyError: 'port'
```

## Options

### Option 1: Read the config later

- **Trade-offs**: hides a late error
- **Files**: `config.py`
- **Steps**: move the call

### Option 2: Add config initialization

**Trade-offs:** one more call
**Files to modify:** `start.py`

#### Steps

1. Call `init()` in `start()`.

## Recommendation

**Option 2**, because option 1 hides errors.
"""
WHY = "\n## Why the last fix failed\n\nIt initialized another config.\n"
VALUES: dict[str, Value] = {
    "topic": "phase1_failures",
    "number": 1,
    "iteration": 1,
    "round": 1,
    "date": "2031-04-05",
    "commit": None,
    "command": "pytest",
    "failing": ["tests/test_start.py::test_start"],
    "status": "open",
}


def missing_parts(text: str, iteration: int) -> tuple[str, ...]:
    """What the report lacks."""
    found = read_report("", text, iteration)
    return () if isinstance(found, Report) else found


def front_of(text: str) -> object:
    return yaml.safe_load(text.removeprefix("---\n").partition("\n---\n")[0])


def without(section: str) -> str:
    return re.sub(rf"(?ms)^## {section}\n.*?(?=^## |\Z)", "", REPORT)


# What a report must have


def test_a_whole_report_says_what_is_wrong_and_what_to_do() -> None:
    cause = "The config file is not initialized before the first test runs."

    assert read_report(PATH, REPORT, 1) == Report(
        path=PATH,
        root_cause=cause,
        options=2,
        recommended="Option 2: Add config initialization",
    )


@pytest.mark.parametrize("section", ["Failure", "Root cause", "Evidence", "Options", "Recommendation"])
def test_a_report_without_a_section_is_asked_for_it(section: str) -> None:
    assert missing_parts(without(section), 1) == (f"section `{section}` is missing",)


def test_a_section_with_nothing_in_it_is_asked_for() -> None:
    text = REPORT.replace("```\nKeyError: 'port'\n```", "<!-- what you ran -->")

    assert missing_parts(text, 1) == ("section `Evidence` is empty",)


def test_the_second_report_says_why_the_last_fix_failed() -> None:
    assert missing_parts(REPORT, 1) == ()
    assert missing_parts(REPORT, 2) == ("section `Why the last fix failed` is missing",)
    assert missing_parts(REPORT + WHY, 2) == ()


def test_headings_may_be_written_in_other_ways() -> None:
    text = REPORT.replace("## Root cause", "## 2. ROOT CAUSE").replace("## Evidence", "## **Evidence:** ##")
    text = text.replace("## Failure\n", "Failure\n-------\n").replace("### Option 2: Add", "### **Option 2** — Add")

    assert missing_parts(text.replace("\n", "\r\n"), 1) == ()


def test_headings_in_code_comments_and_quotes_do_not_count() -> None:
    for hidden in ("```\n## Evidence\nx\n```", "<!--\n## Evidence\nx\n-->", "> ## Evidence\n> x", "    ## Evidence"):
        text = without("Evidence").replace("## Failure\n", f"## Failure\n\n{hidden}\n")
        assert missing_parts(text, 1) == ("section `Evidence` is missing",)


def test_one_option_is_not_a_choice_and_four_are_too_many() -> None:
    needed = "`Options` needs 2 or 3 options (`### Option 1: ...`), each with Trade-offs, Files and Steps"
    third = "### Option 3: c\n\nTrade-offs: a\nFiles: b\nSteps: c\n\n"
    first, second = REPORT.index("### Option 1"), REPORT.index("### Option 2")

    assert needed in missing_parts(REPORT[:first] + REPORT[second:], 1)
    assert missing_parts(REPORT.replace("## Rec", f"{third}## Rec"), 1) == ()
    assert missing_parts(REPORT.replace("## Rec", f"{third}{third.replace('3', '4')}## Rec"), 1) == (needed,)


def test_each_option_has_all_its_parts() -> None:
    text = REPORT.replace("- **Trade-offs**: hides a late error\n", "Files differ in how they fail.\n")

    assert missing_parts(text.replace("#### Steps", ""), 1) == ("option 1 needs Trade-offs", "option 2 needs Steps")


def test_options_have_numbers_of_their_own() -> None:
    text = REPORT.replace("### Option 1", "### Option 2")

    assert missing_parts(text, 1) == ("two options have the same number",)


@pytest.mark.parametrize(
    ("recommendation", "missing"),
    [
        ("Option 4.", ("the recommendation names option 4, which does not exist",)),
        ("Initialize it.", ("the recommendation names no option: begin it with `Option N`",)),
        ("", ("section `Recommendation` is empty",)),
        ("Option 99999999999999999999999", ("the recommendation names no option: begin it with `Option N`",)),
    ],
)
def test_the_recommendation_is_one_of_the_options(recommendation: str, missing: tuple[str, ...]) -> None:
    text = f"{without('Recommendation')}## Recommendation\n\n{recommendation}\n"

    assert missing_parts(text, 1) == missing


@pytest.mark.parametrize(
    "recommendation",
    [
        "Option 2 is best.",
        "- **Option 2**: it is small",
        "Recommended fix: Option 2 - add it",
        "Unlike option 1, this shows errors:\n\nOption 2",
        "### Option 2: Add config initialization\n\nIt is small.",
        "I would take option #2 of these.",
    ],
)
def test_the_option_that_begins_a_line_is_recommended(recommendation: str) -> None:
    found = read_report(PATH, f"{without('Recommendation')}## Recommendation\n\n{recommendation}\n", 1)

    assert isinstance(found, Report) and found.recommended == "Option 2: Add config initialization"


def test_a_report_that_is_too_large_is_not_read() -> None:
    large = REPORT + "ä" * (REPORT_BYTES // 2)

    assert missing_parts(large, 1) == (
        f"the report has {len(large.encode()):,} bytes, but at most 262,144 are allowed: shorten it",
    )


def test_a_root_cause_is_one_short_line_without_control_characters() -> None:
    text = REPORT.replace("The config file", "The \x1b[31mconfig\x07 file" + " again" * 200)
    found = read_report(PATH, text, 1)

    assert isinstance(found, Report)
    assert found.root_cause.startswith("The [31mconfig file again") and len(found.root_cause) == 500


@given(some.text(), some.integers(1, 10))
def test_what_any_text_lacks_can_be_put_to_the_agent(text: str, iteration: int) -> None:
    missing = missing_parts(text, iteration)

    assert missing and all(sentence.isprintable() for sentence in missing)


# The front matter


def test_pitstop_writes_the_front_matter_and_not_the_agent() -> None:
    written = with_front_matter(f"\ufeff---\r\nstatus: resolved\r\nmine: yes\r\n---\r\n{REPORT}", VALUES)

    assert written.startswith("---\ntopic:")
    assert front_of(written) == VALUES and "mine" not in written
    assert read_report(PATH, written, 1) == read_report(PATH, REPORT, 1)


def test_a_line_across_the_page_is_no_front_matter() -> None:
    text = f"---\n# Title\n\nNot a key\n\n---\n\n{REPORT}"

    assert with_front_matter(text, VALUES).endswith(text)


@pytest.mark.parametrize(
    "command",
    [
        "pytest -k \"a or 'b'\"",
        "a\n---\nstatus: resolved\n",
        "\u2028\x85\ud800\x00😀ä",
        "yes",
        "# a",
        "&a [*b",
        "",
        ": ",
    ],
)
def test_no_command_breaks_the_front_matter(command: str) -> None:
    written = with_front_matter(REPORT, VALUES | {"command": command, "failing": [command, command]})

    assert front_of(written) == VALUES | {"command": command, "failing": [command, command]}
    assert missing_parts(written, 1) == ()


@given(some.text(), some.text())
def test_the_front_matter_is_replaced_and_the_text_stays(command: str, text: str) -> None:
    once = with_front_matter(text, VALUES | {"command": command})

    assert front_of(once) == VALUES | {"command": command}
    assert with_front_matter(once, VALUES) == with_front_matter(text, VALUES)


@given(some.text())
def test_only_the_status_of_a_report_changes(command: str) -> None:
    body = f"{REPORT}\nstatus: open\n---\nstatus: open\n"
    resolved = with_status(with_front_matter(body, VALUES | {"command": command}), "resolved")

    assert resolved == with_front_matter(body, VALUES | {"command": command, "status": "resolved"})


def test_a_report_without_front_matter_has_no_status() -> None:
    assert with_status(REPORT, "unresolved") == REPORT


# What an agent says


def test_the_three_lines_of_an_agent_are_read() -> None:
    said = (
        "DEBUG_REPORT_PATH: debug/phase1_failures/001_config_initialization.md\n\n"
        "Root cause: Config file not initialized before first test runs.\n"
        "Recommended fix: Option 2 - Add config initialization in test setup hook\n"
    )

    assert named_in(said) == Named(
        path=PATH,
        root_cause="Config file not initialized before first test runs.",
        recommended="Option 2 - Add config initialization in test setup hook",
    )


@pytest.mark.parametrize(
    "line",
    [
        f"**DEBUG_REPORT_PATH:** `{PATH}`",
        f"- **DEBUG_REPORT_PATH**: {PATH}.",
        f"> 1. `DEBUG_REPORT_PATH: {PATH}`",
        f"### Debug report path: [{PATH}]({PATH})",
        f"```\nDEBUG_REPORT_PATH: ./{PATH}\n```",
        f"DEBUG_REPORT_PATH:\n\n{PATH}\n",
        f"DEBUG_REPORT_PATH: debug/[topic]/NNN_name.md\r\nDEBUG_REPORT_PATH: {PATH}\r\n",
    ],
)
def test_markdown_around_a_line_does_not_matter(line: str) -> None:
    assert named_in(f"I wrote it.\n\n{line}\n\n**Root cause:** `x` is None\n") == Named(PATH, "`x` is None", None)


def test_a_label_with_nothing_after_it_does_not_take_the_next_one() -> None:
    assert named_in("Root cause:\n\n**Recommended fix:** Option 1 - a") == Named(None, None, "Option 1 - a")


def test_an_agent_may_say_nothing() -> None:
    assert named_in("") == named_in("The root cause is unknown.\n") == Named(None, None, None)


@given(some.text() | some.text("\n*`:- >") | some.from_regex(r"(?i)[\s*`>-]*root cause\s*:.*"))
def test_what_an_agent_says_is_one_line_or_nothing(text: str) -> None:
    cause = named_in(text).root_cause

    assert cause is None or (cause.isprintable() and 0 < len(cause) <= 500)


# Paths and numbers


def test_a_report_path_is_in_the_folder_of_its_topic() -> None:
    assert is_report_path(PATH, "phase1_failures")
    assert is_report_path(report_path("config_errors", 1000, "a"), "config_errors")


@pytest.mark.parametrize(
    "path",
    [
        f"/{PATH}",
        f"./{PATH}",
        f"x/{PATH}",
        f"{PATH}\n",
        f"{PATH}\x00",
        PATH.replace("/", "\\"),
        "debug/phase1_failures/../../001_a.md",
        "debug/phase1_failures/../config_errors/001_a.md",
        "debug/phase1_failures/sub/001_a.md",
        "debug/phase1_failures/001_../a.md",
        "debug/config_errors/001_a.md",
        "debug/phase1_failures/1_a.md",
        "debug/phase1_failures/001_A.md",
        "debug/phase1_failures/001_.md",
        "debug/phase1_failures/001-a.md",
        "debug/phase1_failures/001_a.txt",
        "debug/phase1_failures/٠٠١_a.md",
        f"debug/phase1_failures/001_{'a' * 61}.md",
        "",
    ],
)
def test_no_other_file_is_a_report(path: str) -> None:
    assert not is_report_path(path, "phase1_failures")


@pytest.mark.parametrize("topic", ["..", "../x", ".*", "", "a/b", "A"])
def test_a_topic_does_not_lead_elsewhere(topic: str) -> None:
    assert not is_report_path(report_path(topic, 1, "a"), topic)


@given(some.text() | some.from_regex(r"debug/[a-z./]{0,20}/[0-9]{1,4}_[a-zA-Z./\\]{0,9}\.md"))
def test_a_report_path_never_leaves_its_folder(path: str) -> None:
    if is_report_path(path, "tests_failures"):
        assert path.startswith("debug/tests_failures/") and path.count("/") == 2


def test_reports_are_numbered_in_each_topic() -> None:
    paths = [PATH, "debug/phase1_failures/007_Other-Name.md", "debug/phase1_failures/notes.md", "debug/x/009_a.md"]

    assert next_number(paths, "phase1_failures") == 8
    assert next_number([*paths, "old/debug/x/100_a.md"], "x") == 10
    assert next_number(paths, "config_errors") == 1


@given(some.lists(some.integers(1, 20_000)))
def test_the_next_number_is_free(numbers: list[int]) -> None:
    paths = [report_path("t", number, "a") for number in numbers]
    following = report_path("t", next_number(iter(paths), "t"), "a")

    assert following not in paths and is_report_path(following, "t")


# An iteration whose diagnosis failed


def test_a_failed_diagnosis_has_a_report_too() -> None:
    text = report_without_diagnosis(VALUES, reasons=["section `Evidence`\nis missing", "no time left"], said="I tried.")

    assert front_of(text) == VALUES | {"status": "failed"}
    assert "- section `Evidence` is missing\n- no time left\n" in text and "```\nI tried.\n```" in text


@given(some.text() | some.text("`~\n\r a#-"))
def test_what_the_agent_said_cannot_end_its_fence(said: str) -> None:
    text = report_without_diagnosis(VALUES, reasons=["no report"], said=f"{said}\n## Fixed\n")
    tokens = MarkdownIt("commonmark").parse(text.partition("\n---\n")[2])

    assert [token.type for token in tokens][-1] == "fence" and sum(token.type == "fence" for token in tokens) == 1
    assert tokens[-1].content.endswith("\n## Fixed\n")
