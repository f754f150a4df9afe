"""`pitstop history`: what a run that is over was like at its points."""

from tests.doors.cli.command_line import CommandLine

FLOW = """
vars: {n: 1}
steps:
  - {id: make, run: 'echo one > made.txt; echo size=3 >> "$PITSTOP_OUTPUT"'}
  - {id: change, run: 'echo two >> made.txt; echo new > added.txt'}
  - {id: fail, run: exit 3}
"""


def finished_run(cli: CommandLine, *options: str) -> str:
    cli.write("flow.yaml", FLOW)
    cli.run("debug", "flow.yaml", *options, "-c", "set .vars.n = 5", "-c", "continue", "-c", "continue")
    return cli.run("runs").out.split()[0]


def point(cli: CommandLine, run: str, place: str) -> str:
    return next(line.split()[0] for line in cli.run("history", run).lines if f"  {place}" in line)


def test_the_points_of_a_run_that_is_over_are_listed(cli: CommandLine) -> None:
    run = finished_run(cli)

    lines = cli.run("history", run).lines

    assert [line.split("  ")[3] for line in lines if "passed" in line or "failed" in line][:2] == [
        "after make",
        "after change",
    ]
    assert any("error fail" in line and "failed" in line for line in lines)


def test_values_and_files_of_any_two_points_are_compared(cli: CommandLine) -> None:
    run = finished_run(cli, "--workspace", "fresh")
    first, last = point(cli, run, "before make"), point(cli, run, "error fail")

    lines = cli.run("history", run, first, last).lines

    values, files = lines[: lines.index("files")], lines[lines.index("files") + 1 :]
    assert "  ~ .vars.n 1 → 5" in values
    assert {line.split()[1] for line in values if line.startswith("  +")} == {
        ".steps.make",
        ".steps.change",
        ".steps.fail",
    }
    assert files == ["  + repo/added.txt", "  + repo/made.txt"]
    middle = point(cli, run, "after make")
    shown = cli.run("history", run, middle, last, "--file", "repo/made.txt").lines
    assert [line for line in shown if line.startswith("+")][-1] == "+two"


def test_values_are_compared_where_no_files_were_kept(cli: CommandLine) -> None:
    run = finished_run(cli)

    said = cli.run("history", run, point(cli, run, "before make"), point(cli, run, "after make"))

    assert said.code == 0
    assert any(".steps.make" in line for line in said.lines)
    assert any("no files are stored" in line for line in said.lines)


def test_what_cannot_be_compared_is_told(cli: CommandLine) -> None:
    run = finished_run(cli)

    assert cli.run("history", run, "6").code == 2
    unknown = cli.run("history", run, "1", "9999")
    assert (unknown.code, "no point 1" in unknown.err) == (2, True)
    assert cli.run("history", "nope").code != 0
