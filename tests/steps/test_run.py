import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pitstop.events.log import MemoryLog
from pitstop.events.outcome import Status
from pitstop.events.types import StepNoted
from pitstop.limits import Limits
from pitstop.plan.plan import Retry, Step
from pitstop.runs.step_reports import reports_in
from pitstop.steps import junit
from pitstop.steps.failures import CommandFailed
from tests.deep_folders import deep_in
from tests.steps.bench import OUR_TYPES, Bench, is_alive, open_bench

# --- What a script gets ----------------------------------------------------------------------------------------------


async def test_a_script_runs_in_the_workspace_and_its_output_can_be_watched(bench: Bench) -> None:
    outputs = await bench.outputs("run", {"script": "pwd; echo to stderr >&2"})

    assert outputs == {"exit_code": 0}
    assert str(bench.repo) in bench.said
    assert "to stderr" in bench.said


async def test_the_first_failing_command_ends_a_script_also_in_a_pipe(bench: Bench) -> None:
    assert "exit code 1" in await bench.failure("run", {"script": "false\necho not reached"})
    assert "exit code 1" in await bench.failure("run", {"script": "false | true\necho not reached"})
    assert "not reached" not in bench.said


async def test_without_bash_it_is_sh_that_stops_at_the_first_failure(tmp_path: Path, is_far: bool) -> None:
    async with open_bench(tmp_path, is_far=is_far, shell=("sh", "-e")) as bench:
        assert "exit code 1" in await bench.failure("run", {"script": "false\necho not reached"})
        assert bench.said == ""


@pytest.mark.parametrize(
    ("shell", "script"),
    [
        ("sh", 'echo "said by $0"'),
        ("python", "import sys; print('said by', sys.executable)"),
        ("python3 -X utf8", "print('said by a command with words')"),
        (["python3", "{file}"], "import sys; print('said by', sys.argv[0])"),
        (["python3", "-c", "{script}"], "print('said by the text')"),
        (["sh"], "echo said by a list without a place for the script"),
    ],
)
async def test_a_script_can_choose_its_shell(bench: Bench, shell: str | list[str], script: str) -> None:
    await bench.outputs("run", {"script": script, "shell": shell})

    assert "said by" in bench.said


async def test_the_inner_variables_win_over_the_outer_ones(tmp_path: Path, is_far: bool) -> None:
    async with open_bench(tmp_path, is_far=is_far, env={"A": "base", "B": "base", "C": "base", "D": "base"}) as bench:
        await bench.outputs(
            "run",
            {"script": 'echo "$A $B $C $D"', "env": {"D": "config"}},
            values={"env": {"B": "flow", "C": "flow", "D": "flow"}, "vars": {"name": "step"}},
            env={"C": "${{ .vars.name }}", "D": "step"},
        )
        assert bench.said == "base flow step config\n"


async def test_variables_that_are_no_text_are_json(bench: Bench) -> None:
    env = {"NUMBER": 1, "TRUE": True, "NOTHING": None, "LIST": [1, "a"]}
    await bench.outputs("run", {"script": 'echo "$NUMBER $TRUE <$NOTHING> $LIST"', "env": env})

    assert bench.said == '1 true <> [1,"a"]\n'


async def test_a_script_knows_where_it_is(bench: Bench) -> None:
    await bench.outputs("run", {"script": 'echo "$PITSTOP_RUN $PITSTOP_STEP $PITSTOP_OCCURRENCE $PITSTOP_ATTEMPT"'})
    await bench.outputs("run", {"script": 'echo "$PITSTOP_WORKSPACE $HOME $PITSTOP_ARTIFACTS"'})

    workspace = bench.workspace
    assert bench.said == f"bench it it 1\n{workspace.repo} {workspace.home} {workspace.artifacts}\n"


async def test_a_script_reads_the_stdin_that_it_is_given_and_else_nothing(bench: Bench) -> None:
    await bench.outputs("run", {"script": "cat", "stdin": "grüße\n"})
    await bench.outputs("run", {"script": "cat; echo end of input"})

    assert bench.said == "grüße\nend of input\n"


async def test_a_script_can_run_in_a_folder_of_the_workspace(bench: Bench) -> None:
    (bench.repo / "sub").mkdir()
    await bench.outputs("run", {"script": "pwd", "working_directory": "sub"})

    assert bench.said.strip().endswith("/repo/sub")


@pytest.mark.parametrize("folder", ["..", "/", "sub/../../..", "link"])
async def test_a_script_never_runs_outside_the_workspace(bench: Bench, folder: str) -> None:
    (bench.repo / "link").symlink_to("/")
    error = await bench.failure("run", {"script": "echo escaped", "working_directory": folder})

    assert "outside the workspace" in error
    assert "escaped" not in bench.said


async def test_a_folder_that_is_missing_is_named(bench: Bench) -> None:
    assert "missing" in await bench.failure("run", {"script": "true", "working_directory": "missing"})


# --- How it ends -----------------------------------------------------------------------------------------------------


async def test_a_failure_has_the_exit_code_and_the_last_lines(bench: Bench) -> None:
    error = await bench.failure("run", {"script": "for i in $(seq 1 50); do echo line $i; done; echo why >&2; exit 3"})

    assert error.startswith("CommandFailed: exit code 3\n")
    assert "line 50" in error
    assert "why" in error
    assert "line 40\n" not in error


async def test_the_last_lines_are_readable_also_when_the_output_is_not(bench: Bench) -> None:
    script = r"printf 'half\r\033[31mred\033[0m\n\xff\xfe\n' ; head -c 3000000 /dev/zero | tr '\0' x; exit 1"
    error = await bench.failure("run", {"script": script})

    assert len(error) < 1_000
    assert error.endswith("xxx")


@pytest.mark.parametrize(("code", "status"), [(0, Status.PASSED), (3, Status.PASSED), (1, Status.FAILED)])
async def test_exit_codes_can_be_accepted(bench: Bench, code: int, status: Status) -> None:
    outcome = await bench.act("run", {"script": f"exit {code}", "accept": [0, 3]})

    assert outcome.status is status
    assert status is Status.FAILED or outcome.outputs == {"exit_code": code}


async def test_only_the_accepted_codes_pass(bench: Bench) -> None:
    assert await bench.outputs("run", {"script": "exit 1", "accept": 1}) == {"exit_code": 1}
    assert "exit code 0" in await bench.failure("run", {"script": "true", "accept": 1})


async def test_an_end_by_a_signal_is_told_apart_from_an_exit_code(bench: Bench) -> None:
    assert "killed by SIGKILL" in await bench.failure("run", {"script": "kill -KILL $$"})
    assert "exit code 139: a command was killed by SIGSEGV" in await bench.failure(
        "run", {"script": "sh -c 'kill -SEGV $$' ; true"}
    )


async def test_a_command_that_is_missing_is_explained(bench: Bench) -> None:
    error = await bench.failure("run", {"script": "no-such-command --help"})

    assert "exit code 127: command not found; is it installed and on the PATH?" in error
    assert "no-such-command" in error


async def test_a_shell_that_is_missing_is_explained(bench: Bench) -> None:
    assert "command not found: no-such-shell" in await bench.failure("run", {"script": "x", "shell": "no-such-shell"})


async def test_closing_its_output_does_not_end_a_script_early(bench: Bench) -> None:
    script = "exec >&- 2>&-; sleep 0.05; touch done; exit 4"

    assert "exit code 4" in await bench.failure("run", {"script": script})
    assert (bench.repo / "done").exists()


async def test_a_flood_of_output_is_watched_to_the_end_in_bounded_memory(bench: Bench) -> None:
    await bench.outputs("run", {"script": "head -c 50000000 /dev/zero; echo the end"})

    assert bench.said_bytes == 50_000_000 + len("the end\n")
    assert bench.said.endswith("the end\n")


async def test_a_daemon_does_not_outlive_the_step_that_started_it(bench: Bench) -> None:
    script = "setsid sh -c 'echo $$ > pid; exec sleep 1000' & while [ ! -s pid ]; do :; done"
    await bench.outputs("run", {"script": script})

    assert not is_alive(int((bench.repo / "pid").read_text()))


# --- Cancel and timeout ----------------------------------------------------------------------------------------------

STUBBORN = """
trap 'echo asked to end' TERM
sh -c 'trap "" TERM; echo $$ > child; exec sleep 1000' &
echo $$ > parent
while [ ! -s child ]; do :; done
echo ready
while true; do sleep 1000 & wait $!; done
"""


def pids(bench: Bench) -> list[int]:
    return [int((bench.repo / name).read_text()) for name in ("parent", "child")]


async def test_a_timeout_leaves_nothing_of_the_command_also_where_it_ignores_term(bench: Bench) -> None:
    for seconds in (1.0, 10.0, 100.0):  # on a busy machine it may not be ready by then, or have no time to answer TERM
        bench.workplace = replace(bench.workplace, grace_seconds=seconds / 5)
        outcome = await bench.act("run", {"script": STUBBORN}, timeout_seconds=seconds)
        assert outcome.status is Status.TIMED_OUT
        if "asked to end" in bench.said:
            break

    assert [is_alive(pid) for pid in pids(bench)] == [False, False]
    assert "asked to end" in bench.said


async def test_cancelling_leaves_nothing_of_the_command_and_goes_on_up(bench: Bench) -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bench.act("run", {"script": STUBBORN}))
        await bench.wait_said("ready")
        running.cancel()

    assert running.cancelled()
    assert [is_alive(pid) for pid in pids(bench)] == [False, False]


async def test_a_step_that_is_cancelled_when_its_workspace_is_released_was_cancelled(bench: Bench) -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bench.act("run", {"script": "echo ready; sleep 1000"}))
        await bench.wait_said("ready")
        running.cancel()
        await bench.workplace.executor.release(bench.workspace)

    assert running.cancelled()


async def test_cancelling_twice_takes_the_time_to_end_away(bench: Bench) -> None:
    bench.workplace = replace(bench.workplace, grace_seconds=60.0)
    os.mkfifo(bench.repo / "asked")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            bench.act("run", {"script": STUBBORN.replace("echo asked", "echo > asked; echo asked")})
        )
        await bench.wait_said("ready")
        running.cancel()
        await asyncio.to_thread((bench.repo / "asked").read_text)  # a pipe: it blocks until TERM has arrived
        running.cancel()

    assert [is_alive(pid) for pid in pids(bench)] == [False, False]


async def test_each_attempt_runs_the_script_again(bench: Bench) -> None:
    outcome = await bench.act(
        "run", {"script": 'echo "attempt $PITSTOP_ATTEMPT"; test $PITSTOP_ATTEMPT = 3'}, retry=Retry(times=2)
    )

    assert outcome.status is Status.PASSED
    assert bench.said == "attempt 1\nattempt 2\nattempt 3\n"


# --- Outputs ---------------------------------------------------------------------------------------------------------


async def test_a_script_hands_on_values_as_lines_or_as_json(bench: Bench) -> None:
    lines = 'echo "tag=v1" >> "$PITSTOP_OUTPUT"; printf "notes<<END\\na\\nb\\nEND\\n" >> "$PITSTOP_OUTPUT"'

    assert await bench.outputs("run", {"script": lines}) == {"exit_code": 0, "tag": "v1", "notes": "a\nb"}
    assert await bench.outputs("run", {"script": """echo '{"n": [1, {"a": null}]}' > "$PITSTOP_OUTPUT" """}) == {
        "exit_code": 0,
        "n": [1, {"a": None}],
    }


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ('head -c 100000000 /dev/zero > "$PITSTOP_OUTPUT"', "100,000,000 bytes"),
        ('head -c 100 /dev/urandom | tr -d "\\n=<" > "$PITSTOP_OUTPUT"', "$PITSTOP_OUTPUT"),
        (r"""printf 'a=\xff\n' > "$PITSTOP_OUTPUT" """, "not UTF-8"),
        ('echo "just words" > "$PITSTOP_OUTPUT"', "line 1 is 'just words'"),
        ('mkdir "$PITSTOP_OUTPUT"', "no longer a regular file"),
        ('mkfifo "$PITSTOP_OUTPUT"', "no longer a regular file"),
        ('ln -sf /etc/passwd "$PITSTOP_OUTPUT"', "cannot read it"),
        ('echo "exit_code=0" > "$PITSTOP_OUTPUT"', "is reserved by Pitstop"),
    ],
)
async def test_garbage_in_the_output_file_fails_the_step_with_a_reason(bench: Bench, script: str, told: str) -> None:
    error = await bench.failure("run", {"script": script})

    assert error.startswith("BadOutput")
    assert told in error


async def test_an_output_file_that_was_removed_is_no_outputs(bench: Bench) -> None:
    assert await bench.outputs("run", {"script": 'touch "$PITSTOP_OUTPUT"; rm "$PITSTOP_OUTPUT"'}) == {"exit_code": 0}


async def test_of_a_failed_script_the_outputs_are_not_lost(bench: Bench) -> None:
    await bench.failure("run", {"script": 'echo "tag=v1" >> "$PITSTOP_OUTPUT"; exit 1'})

    assert isinstance(bench.raised, CommandFailed)
    assert bench.raised.outputs == {"exit_code": 1, "tag": "v1"}


async def test_the_step_leaves_no_script_and_its_outputs_until_they_are_stored(bench: Bench) -> None:
    script = 'echo a=1 >> "$PITSTOP_OUTPUT"'
    await bench.outputs("run", {"script": script, "shell": ["sh", "{file}"]})

    files = bench.files_in(bench.workspace.control)
    assert [path.rpartition(".")[2] for path in files if path.endswith((".output", ".script"))] == ["output"]


# --- Test reports and artifacts --------------------------------------------------------------------------------------

QUIET_PYTEST = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
REPORT = (
    '<testsuite><testcase classname="a" name="good" time="0.5"/><testcase classname="a" name="bad">'
    '<failure type="AssertionError" message="1 != 2">trace</failure></testcase></testsuite>'
)


async def test_test_reports_are_counted_and_failing_cases_listed(bench: Bench) -> None:
    (bench.repo / "report").write_text(REPORT)
    outputs = await bench.outputs("run", {"script": "mkdir r; cp report r/a.xml", "tests": "r/*.xml"})

    tests = outputs["tests"]
    assert (tests["total"], tests["passed"], tests["failed"], tests["seconds"]) == (2, 1, 1, 0.5)
    assert tests["failing"][0]["message"] == "1 != 2"
    assert tests["files"] == ["r/a.xml"]


async def test_a_failing_command_names_the_tests_that_failed(bench: Bench) -> None:
    (bench.repo / "report").write_text(REPORT)
    error = await bench.failure("run", {"script": "cp report a.xml; exit 1", "tests": "*.xml"})

    assert "exit code 1; 1 of 2 tests failed: a.bad" in error
    assert isinstance(bench.raised, CommandFailed)
    assert bench.raised.outputs["tests"]["total"] == 2


async def test_a_report_from_before_the_command_does_not_count(bench: Bench) -> None:
    (bench.repo / "old.xml").write_text(REPORT)

    assert "did not write new reports" in await bench.failure("run", {"script": "true", "tests": "*.xml"})
    assert (await bench.outputs("run", {"script": "cp old.xml new.xml", "tests": "*.xml"}))["tests"]["total"] == 2


@pytest.mark.parametrize(
    ("report", "told"),
    [
        ("<testsuite><testcase", "line 1: unclosed token"),
        ("", "line 1: no element found"),
        ("<html></html>", "starts with <html>"),
        (
            '<!DOCTYPE lolz [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><testsuite>&b;</testsuite>',
            "a document type is not allowed",
        ),
    ],
)
async def test_a_report_that_cannot_be_read_fails_the_step(bench: Bench, report: str, told: str) -> None:
    (bench.repo / "report").write_text(report)
    error = await bench.failure("run", {"script": "cp report a.xml", "tests": "*.xml"})

    assert "cannot read test report 'a.xml'" in error
    assert told in error


async def test_a_bad_report_does_not_hide_why_the_command_failed(bench: Bench) -> None:
    error = await bench.failure("run", {"script": "echo nonsense > a.xml; exit 9", "tests": "*.xml"})

    assert error.startswith("CommandFailed: exit code 9; cannot read test report 'a.xml'")


async def test_pytest_reports_its_tests_without_a_file_in_the_repository(bench: Bench) -> None:
    (bench.repo / "test_shop.py").write_text("def test_good(): pass\ndef test_bad(): assert 1 == 2\n")
    script = f"{sys.executable} -m pytest -q -p no:cacheprovider test_shop.py"
    error = await bench.failure("run", {"script": script, "tests": "pytest", "env": QUIET_PYTEST})

    assert "exit code 1; 1 of 2 tests failed: test_shop.test_bad" in error
    assert isinstance(bench.raised, CommandFailed)
    assert bench.raised.outputs["tests"]["files"] == ["pytest"]
    assert [path.name for path in bench.repo.glob("*.xml")] == []


async def test_options_for_pytest_that_are_there_stay(bench: Bench) -> None:
    script = 'echo "$PYTEST_ADDOPTS"'
    await bench.act("run", {"script": script, "tests": "pytest", "env": {"PYTEST_ADDOPTS": "-x -k 'a b'"}})
    assert re.fullmatch(r"-x -k 'a b' --junitxml=\S+\.pytest\.xml -o junit_family=xunit2", bench.said.splitlines()[0])


async def test_options_for_pytest_that_commands_inherit_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--inherited")
    async with open_bench(tmp_path) as bench:
        await bench.act("run", {"script": 'echo "$PYTEST_ADDOPTS"', "tests": "pytest"})
    assert bench.said.startswith("--inherited --junitxml=")


async def test_a_step_whose_pytest_left_no_report_ends_as_its_command_and_says_so(bench: Bench) -> None:
    outputs = await bench.outputs("run", {"script": "true", "tests": "pytest"})
    assert "tests" not in outputs
    assert "pitstop: pytest left no test report: it did not run, was killed," in bench.said

    error = await bench.failure("run", {"script": "exit 3", "tests": "pytest"})
    assert "exit code 3; pytest left no test report" in error


REPORTING = """
import os, re, sys
with open(re.search(r"--junitxml=(\\S+)", os.environ["PYTEST_ADDOPTS"])[1], "w") as file:
    file.write(sys.argv[1])
"""


async def test_the_last_pytest_of_a_script_counts_together_with_other_reports(bench: Bench) -> None:
    (bench.repo / "report").write_text(REPORT)
    (bench.repo / "as_pytest.py").write_text(REPORTING)
    script = f"""
        {sys.executable} as_pytest.py '<testsuite><testcase name="first"/></testsuite>'
        {sys.executable} as_pytest.py '<testsuite><testcase name="last"/></testsuite>'
        cp report a.xml
    """
    outputs = await bench.outputs("run", {"script": script, "tests": ["pytest", "*.xml"]})

    assert (outputs["tests"]["total"], outputs["tests"]["files"]) == (3, ["a.xml", "pytest"])


async def test_a_broken_report_of_pytest_fails_the_step(bench: Bench) -> None:
    (bench.repo / "as_pytest.py").write_text(REPORTING)
    script = f"{sys.executable} as_pytest.py '<testsuite><testc'"

    assert "cannot read test report 'pytest': line 1" in await bench.failure(
        "run", {"script": script, "tests": "pytest"}
    )


async def test_every_case_of_a_report_is_noted_in_the_log(bench: Bench) -> None:
    (bench.repo / "report").write_text(REPORT)
    log = MemoryLog()
    step = Step("it", "run", {"script": "cp report a.xml; exit 1", "tests": "*.xml"}, id="it")
    await bench.execute(
        Step("", "sequence", children=(step,)), {}, OUR_TYPES.for_run(bench.workplace, ["run"]), log=log
    )

    (note,) = [event for event in log.read() if isinstance(event, StepNoted)]
    assert (note.note, note.occurrence) == ("tests.reported", "it")
    assert note.data["suites"] == [["a", ["good", "bad"], "pf", "500 0"]]
    assert reports_in(log.read())["it"].is_complete


async def test_a_report_that_is_too_large_for_the_history_is_counted_and_said(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(junit, "MOST_CASES", 1)
    (bench.repo / "report").write_text(REPORT.replace('"bad"', f'"{"b" * 501}"'))
    outputs = await bench.outputs("run", {"script": "cp report a.xml", "tests": "*.xml"})

    assert outputs["tests"]["total"] == 2
    assert "pitstop: the test reports have 2 cases: all are counted, but only the first" in bench.said
    assert "names longer than 500 characters are shortened in the test history (1 in these reports)" in bench.said


async def test_artifacts_are_kept_under_their_paths(bench: Bench) -> None:
    script = "mkdir -p dist/deep; echo 1 > dist/a.txt; echo 22 > dist/deep/b.txt; echo 3 > c.log"
    outputs = await bench.outputs("run", {"script": script, "artifacts": ["dist", "*.log"]})

    assert outputs["artifacts"] == [
        {"path": "dist/a.txt", "size": 2},
        {"path": "dist/deep/b.txt", "size": 3},
        {"path": "c.log", "size": 2},
    ]
    assert bench.files_in(bench.workspace.artifacts)["dist/deep/b.txt"] == "22\n"


async def test_artifacts_of_a_failed_command_are_kept_too(bench: Bench) -> None:
    await bench.failure("run", {"script": "echo 1 > core.log; exit 1", "artifacts": ["*.log", "*.missing"]})

    assert bench.files_in(bench.workspace.artifacts) == {"core.log": "1\n"}


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (
            Limits(artifact_limit_files=2),
            "the run has at least 3 artifacts, but at most 2 are allowed: "
            "pack them into one file, or raise PITSTOP_ARTIFACT_LIMIT_FILES",
        ),
        (
            Limits(artifact_limit_bytes=5),
            "the artifacts have at least 6 bytes, but at most 5 are allowed: "
            "store fewer or smaller files, or raise PITSTOP_ARTIFACT_LIMIT_BYTES",
        ),
    ],
)
async def test_artifacts_beyond_a_limit_fail_the_step(bench: Bench, limits: Limits, message: str) -> None:
    config = {"script": "for name in a b c; do echo 1 > $name.log; done", "artifacts": ["*.log"]}

    bench.limits = limits

    assert await bench.failure("run", config) == f"LimitExceeded: {message}"
    assert bench.files_in(bench.workspace.artifacts) == {}


async def test_an_artifact_whose_path_is_too_long_fails_the_step(bench: Bench) -> None:
    folder = "/".join(["a" * 100] * 10)
    config = {"script": f"mkdir -p {folder}; echo 1 > {folder}/file", "artifacts": ["**/file"]}

    error = await bench.failure("run", config)

    assert error.startswith(f"LimitExceeded: artifact '{'a' * 50}…': its path has 1,014 characters")
    assert bench.files_in(bench.workspace.artifacts) == {}


async def test_folders_too_deep_to_search_for_artifacts_fail_the_step(bench: Bench) -> None:
    with deep_in(Path(bench.workspace.repo)):
        error = await bench.failure("run", {"script": "true", "artifacts": ["**/file"]})

    assert error == "NothingMatches: artifacts: cannot search folders that are nested this deeply: '**/file'"


@pytest.mark.parametrize("field", ["artifacts", "tests"])
async def test_a_pattern_that_matches_nothing_is_a_failure(bench: Bench, field: str) -> None:
    error = await bench.failure("run", {"script": "true", field: ["no/*.such"]})

    assert error.startswith("NothingMatches")
    assert "'no/*.such'" in error


async def test_an_artifact_with_a_secret_is_refused_by_name(tmp_path: Path, is_far: bool) -> None:
    async with open_bench(tmp_path, is_far=is_far, secrets={"TOKEN": "hunter2hunter2"}) as bench:
        script = """
            head -c 1048570 /dev/zero > large; echo hunter2hunter2 >> large; echo fine > small
            ln -s /etc/passwd $PITSTOP_ARTIFACTS/link
            echo hunter2hunter2 | xxd -p > $PITSTOP_ARTIFACTS/hex; touch $PITSTOP_ARTIFACTS/hunter2hunter2
        """
        outputs = await bench.outputs("run", {"script": script, "artifacts": ["large", "small"]})
        refused = await bench.workplace.refused_artifacts()
        await bench.outputs("run", {"script": "true"})

    assert outputs["artifacts"] == [{"path": "small", "size": 5}]
    assert refused == {"large": "TOKEN", "hex": "TOKEN", "hunter2hunter2": "TOKEN"}
    assert bench.said == "".join(
        f"pitstop: artifact {path} contains the secret TOKEN: it is not stored\n" for path in ("hex", "***", "large")
    )


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "a/../../*", "link/*", "secret"])
async def test_a_pattern_cannot_reach_out_of_the_workspace(bench: Bench, pattern: str) -> None:
    script = "ln -s /etc link; ln -s /etc/passwd secret"
    error = await bench.failure("run", {"script": script, "artifacts": pattern})

    assert error.startswith("OutsideWorkspace")
    assert bench.files_in(bench.workspace.artifacts) == {}


# --- Secrets and bad configuration -----------------------------------------------------------------------------------


async def test_secrets_are_in_no_output_no_error_and_no_live_text(tmp_path: Path, is_far: bool) -> None:
    async with open_bench(tmp_path, is_far=is_far, secrets={"token": "hunter2hunter2"}) as bench:
        script = (
            'echo "the token is $TOKEN"; echo "tag=$TOKEN" >> $PITSTOP_OUTPUT; printf hunter2; sleep 0.05; echo hunter2'
        )
        outputs = await bench.outputs("run", {"script": script, "env": {"TOKEN": "hunter2hunter2"}})
        error = await bench.failure("run", {"script": "echo hunter2hunter2; exit 1"})

        assert outputs["tag"] == "***"
        assert "hunter2" not in bench.said
        assert "hunter2" not in error


SHOW_ARGUMENTS = {
    "bash": "cat /proc/$$/cmdline > arguments",
    "sh": "cat /proc/$$/cmdline > arguments",
    "python": "import shutil; shutil.copy('/proc/self/cmdline', 'arguments')",
}


@pytest.mark.parametrize("shell", SHOW_ARGUMENTS)
async def test_a_secret_in_a_script_is_in_no_argument_of_a_process(tmp_path: Path, is_far: bool, shell: str) -> None:
    async with open_bench(tmp_path, is_far=is_far, secrets={"token": "hunter2hunter2"}) as bench:
        await bench.outputs("run", {"script": f"{SHOW_ARGUMENTS[shell]} # hunter2hunter2", "shell": shell})
        await bench.outputs("wait", {"command": "cat /proc/$$/cmdline >> arguments # hunter2hunter2"})

        assert "hunter2" not in (bench.repo / "arguments").read_text()
        assert bench.files_in(f"{bench.workspace.control}/commands") == {}


@pytest.mark.parametrize("secrets", [{}, {"token": "hunter2hunter2"}])
@pytest.mark.parametrize(
    ("shell", "script"),
    [
        (None, 'read line; echo "$0 $# $line $-"; shopt -po pipefail'),
        ("sh", 'read line\necho "$0 $# $line $-"\nno-such-command'),
        ("python", "import sys\nsys.path[0] or print(sys.argv, input(), __name__)"),
    ],
)
async def test_a_script_looks_the_same_with_and_without_secrets(
    tmp_path: Path, is_far: bool, shell: str | None, script: str, secrets: dict[str, str]
) -> None:
    config = {"script": script, "shell": shell, "stdin": "input\n", "accept": [0, 127]}
    async with open_bench(tmp_path, is_far=is_far, secrets=secrets) as bench:
        await bench.outputs("run", config)

        assert bench.said.replace("eval: ", "") in (  # dash names the builtin
            "bash 0 input ehBc\nset -o pipefail\n",
            "sh 0 input e\nsh: 3: no-such-command: not found\n",
            "['-c'] input __main__\n",
        )


@pytest.mark.parametrize(
    "config",
    [
        {"script": "hunter2hunter2", "shell": ["echo", "{script}"]},
        {"script": "hunter2hunter2", "shell": ["echo"]},
        {"script": "true", "shell": ["echo", "hunter2hunter2"]},
    ],
)
async def test_a_secret_that_would_be_an_argument_is_refused(
    tmp_path: Path, is_far: bool, config: dict[str, Any]
) -> None:
    async with open_bench(tmp_path, is_far=is_far, secrets={"token": "hunter2hunter2"}) as bench:
        assert "would be visible in the arguments of a process" in await bench.failure("run", config)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({}, "run: script is missing"),
        ({"scirpt": "x", "script": "x"}, "there is no field 'scirpt'; did you mean 'script'?"),
        ({"script": 5}, "script is 5"),
        ({"script": "x", "accept": ["zero"]}, 'accept.0 is "zero"'),
        ({"script": "x", "accept": [256]}, "exit codes must be between 0 and 255"),
        ({"script": "x", "shell": ""}, "the command that runs the script is empty"),
        ({"script": "x", "env": {"A=B": "1"}}, "invalid variable name 'A=B'"),
    ],
)
async def test_a_bad_configuration_names_field_and_value(bench: Bench, config: dict[str, Any], told: str) -> None:
    error = await bench.failure("run", config)

    assert error.startswith("BadConfig")
    assert told in error


async def test_a_secret_is_masked_in_a_configuration_that_is_wrong(tmp_path: Path, is_far: bool) -> None:
    async with open_bench(tmp_path, is_far=is_far, secrets={"token": "hunter2hunter2"}) as bench:
        assert "hunter2" not in await bench.failure("run", {"script": "x", "accept": "hunter2hunter2"})


async def test_containers_and_other_machines_are_refused_by_name(bench: Bench) -> None:
    assert "image golang:1.23: this executor cannot run containers" in await bench.failure(
        "run", {"script": "x", "image": "golang:1.23"}
    )
    assert "requires: arch=arm64 cannot be satisfied" in await bench.failure(
        "run", {"script": "x", "requires": {"arch": "arm64"}}
    )


async def test_a_script_with_a_nul_is_refused_and_not_cut(bench: Bench) -> None:
    assert "null byte" in await bench.failure("run", {"script": "echo a\0b"})
