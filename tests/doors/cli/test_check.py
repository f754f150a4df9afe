"""`pitstop check`: every mistake with its line, whatever the file looks like."""

import re

import pytest

from tests.doors.cli.command_line import CommandLine

TWELVE = """\
    nmae: shop
    inputs: {times: {default: 1, type: text}}
    timeout: soon
    steps:
      - id: first one
        run: make
      - id: build
        rnu: make
      - id: build
        run: make
        timeuot: 5m
      - run: make
        retry: {tims: 3}
      - sleep: forever
      - run: make
        if: ".steps.build | length >"
      - run: echo ${{ .inputs.times
      - parallel: []
    """


def test_every_mistake_is_told_at_once_with_its_line_and_column(cli: CommandLine) -> None:
    cli.write("flow.yaml", TWELVE)

    said = cli.run("check", "flow.yaml")

    places = re.findall(r"^flow\.yaml:(\d+):(\d+): ", said.out, re.MULTILINE)
    assert said.code == 2
    assert [int(line) for line, _ in places] == [1, 2, 3, 5, 8, 9, 11, 13, 14, 16, 17, 18]
    assert "12 errors" in said.err
    assert "did you mean `name`?" in said.out


def test_a_good_file_is_said_to_be_good(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{run: make}, {run: make, if: '.steps | length == 0'}]")
    cli.write("bad.yaml", "steps: [{run: make, if: '.steps |'}]")

    said = cli.run("check", "flow.yaml", "bad.yaml")

    assert said.code == 2
    assert said.lines[0] == "flow.yaml: OK (2 steps)"
    assert said.lines[1].startswith("bad.yaml:1:")
    assert cli.run("check", "flow.yaml").code == 0


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty", b"", "the file is empty"),
        ("huge", b"# " + b"x" * (11 * 1024**2), "limit: 4 MB"),
        ("deep", b"[" * 10_000, "levels deep"),
        ("binary", b"\xff\xfe\x00steps", "UTF-8"),
        ("tabs", b"steps:\n\t- run: make\n", "tab"),
        ("twice", b"steps: [{run: make}]\nsteps: [{run: test}]\n", "steps"),
        (
            "laughs",
            b"a: &a [x,x,x,x,x,x,x,x,x]\n"
            + b"".join(b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(9)),
            "values",
        ),
        ("several", b"steps: [{run: a}]\n---\nsteps: [{run: b}]\n", "document"),
        ("circle", b"steps: [{call: circle.yaml}]", "calls itself"),
    ],
)
def test_a_file_that_is_no_flow_is_refused_with_a_place_and_a_reason(
    cli: CommandLine, name: str, content: bytes, reason: str
) -> None:
    (cli.folder / f"{name}.yaml").write_bytes(content)

    for command in ("check", "run"):
        said = cli.run(command, f"{name}.yaml")

        assert said.code == 2
        assert re.search(rf"^{name}\.yaml:\d+:\d+: ", said.out + said.err, re.MULTILINE)
        assert reason in said.out + said.err


def test_a_file_that_is_not_there_or_is_a_folder_is_told(cli: CommandLine) -> None:
    assert "missing.yaml:1:1: cannot read the file: No such file" in cli.run("check", "missing.yaml").out
    assert "it is a folder, not a regular file" in cli.run("run", ".").err


def test_jq_is_judged_wherever_it_stands_with_places_in_what_was_written(cli: CommandLine) -> None:
    cli.write(
        "flow.yaml",
        """\
        steps:
          - run: echo ${{ .inputs.x | shout }}
          - check: .steps.a.outputs |
          - http: http://localhost/
            check: .json | [
          - repeat: {until: "$turns > 3"}
            steps: [{run: make}]
          - check: |
              .steps |
              length == $all
          - check: ${{ .steps | length }} > 2
        """,
    )

    said = cli.run("check", "flow.yaml")

    told = [line for line in said.lines if line.startswith("flow.yaml:")]
    assert said.code == 2
    assert told == [
        "flow.yaml:2:15: invalid jq expression `.inputs.x | shout`: shout/0 is not defined, column 13",
        "flow.yaml:3:12: invalid jq expression `.steps.a.outputs |`: syntax error, unexpected end of file, column 18",
        "flow.yaml:5:12: invalid jq expression `.json | [`: syntax error, unexpected end of file, column 9",
        "flow.yaml:6:21: invalid jq expression `$turns > 3`: $turns is not defined, column 1",
        "flow.yaml:8:12: invalid jq expression `'.steps |\\nlength == $all'`: $all is not defined, line 2, column 11",
    ]


def test_what_is_wrong_with_calls_is_told_beside_other_mistakes(cli: CommandLine) -> None:
    cli.write("called.yaml", "inputs: {tag: {}}\nsteps: [{run: make}]")
    cli.write("wrong.yaml", "steps: [{rnu: make}]")
    cli.write(
        "flow.yaml",
        """\
        steps:
          - call: called.yaml
            with: {tga: 1}
          - call: missing.yaml
          - call: flow.yaml
          - call: wrong.yaml
          - {run: make, timeuot: 3}
        """,
    )

    said = cli.run("check", "flow.yaml")

    places = re.findall(r"^([a-z]+\.yaml:\d+):\d+: ", said.out, re.MULTILINE)
    assert places == [*(f"flow.yaml:{line}" for line in (2, 3, 4, 5, 7)), "wrong.yaml:1"]


def test_a_secret_that_is_read_and_not_listed_is_a_warning_and_no_mistake(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps:\n  - {run: echo $KEY}\n  - {run: echo $KEY $GIVEN, secrets: [KEY]}\n")

    said = cli.run("check", "flow.yaml")
    assert said.code == 0
    assert said.out.splitlines()[:3] == [
        "flow.yaml:2:16: warning: `KEY` is a secret that is not listed for this step, so its commands do not have it",
        "    - {run: echo $KEY}",
        "                 ^ add `secrets: [KEY]` to the step",
    ]
    assert "GIVEN" not in said.out
    assert "warning: `GIVEN` is a secret" in cli.run("run", "flow.yaml", "--dry-run", "--secret", "GIVEN=x").out


def test_a_secret_of_the_environment_reaches_only_the_steps_that_list_it(cli: CommandLine) -> None:
    cli.write(
        "flow.yaml", 'steps:\n  - run: test -z "${KEY+set}"\n  - {run: test "$KEY" = some-value, secrets: [KEY]}\n'
    )
    assert cli.run("run", "flow.yaml", "--secret", "KEY", env={"KEY": "some-value"}).code == 0
