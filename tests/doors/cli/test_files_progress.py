"""Nobody has to guess what a run does while many files are kept, or put back."""

from pathlib import Path

from tests.doors.cli.command_line import CommandLine
from tests.doors.cli.debug_bench import Folder, Person
from tests.held_files import held_store

FLOW = """\
name: kept
steps:
  - {id: first, run: "echo one > a.txt", snapshot: true}
  - {id: second, run: "echo two > a.txt", snapshot: true}
"""


def test_the_live_tree_says_that_the_files_are_kept(tmp_path: Path) -> None:
    with Person(Folder(tmp_path, FLOW), "run", "ci.yaml") as person:
        with held_store(tmp_path / "state"):
            person.reads("storing the workspace files: scanning")
        person.reads("kept passed")
        assert person.leaves() == 0


def test_lines_of_text_and_of_json_say_that_the_files_are_kept(cli: CommandLine) -> None:
    cli.write("flow.yaml", FLOW)
    with held_store(cli.home):
        plain = cli.start("run", "flow.yaml")
        plain.read_until("storing the workspace files: scanning")
    said = plain.wait()
    assert any(line.startswith("stored the workspace files: ") for line in said.lines)

    with held_store(cli.home):
        as_json = cli.start("run", "flow.yaml", "--json")
        as_json.read_until("workspace.progress")
    told = [event for event in as_json.wait().events if event["kind"] == "workspace.progress"]
    assert (told[0]["doing"], told[0]["is_over"], told[-1]["is_over"]) == ("keeping", False, True)
    assert all("number" not in event for event in told)


def test_a_person_at_the_prompt_is_told_what_is_done_with_the_files(tmp_path: Path) -> None:
    with held_store(tmp_path / "state"):
        person = Person(Folder(tmp_path, FLOW), "debug", "ci.yaml", "--workspace", "fresh")
        person.reads("storing the workspace files: scanning")  # there is no prompt yet
    with person:
        person.reads("stored the workspace files: ", "before first", "(main)")
        with held_store(tmp_path / "state"):
            person.enters("next")
            person.reads("the workspace files: scanning")  # in the prompt, where only what differs is drawn again
        person.reads("stored the workspace files: ", "before second", "(main)")
        with held_store(tmp_path / "state"):
            person.enters("back")
            person.reads("estoring the workspace files: scanning")
        person.reads("restored the workspace files: ", "before first", "(main)")
        person.enters("continue")
        assert person.leaves() == 0


def test_a_list_of_commands_says_what_is_done_with_the_files(cli: CommandLine) -> None:
    cli.write("flow.yaml", FLOW)
    with held_store(cli.home):
        debugging = cli.start("debug", "flow.yaml", "-c", "next", "-c", "quit")
        debugging.read_until("storing the workspace files: scanning")
    assert any(line.startswith("stored the workspace files: ") for line in debugging.wait().lines)
