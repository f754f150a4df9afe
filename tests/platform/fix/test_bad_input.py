"""What agents, tests and users can do wrong in a fix loop, one test for each."""

from pathlib import Path

import pytest

from tests.platform.fix.loops import REPORT, Loop

# Agents


async def test_an_agent_that_fails_is_asked_again_twice_and_then_the_iteration_counts_as_failed(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"diagnose-1": "echo no idea; exit 3"})

    summary = await loop.run()

    assert summary.status == "passed", summary
    assert loop.asked()[:3] == ["diagnose-1-1", "diagnose-1-2", "diagnose-1-3"]
    assert loop.verdicts == ["no_diagnosis", "fixed"]
    assert [data["role"] for data in loop.notes("agent_retried")] == ["diagnose", "diagnose"]
    first = (loop.folder / "debug/tests_failures/001_no_diagnosis.md").read_text()
    assert "no idea" in first
    assert loop.ended["reports"][1] == "debug/tests_failures/002_cause_2.md"


async def test_an_agent_that_hangs_is_ended_and_asked_again_with_more_time(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"diagnose-1-1": "sleep 600"})

    summary = await loop.run(loop.flow(time=3))

    assert summary.status == "passed", summary
    assert "tests[1].diagnose timed_out" in loop.finished()
    assert "timed out after 1 s" in loop.notes("agent_retried")[0]["why"]
    assert loop.verdicts == ["fixed"]


async def test_an_agent_that_writes_no_report_is_asked_for_it(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"diagnose-1-1": "echo the code is wrong"})

    await loop.run()

    assert "no report was written to debug/tests_failures/001_SLUG.md" in loop.prompt("diagnose-1-2")
    assert loop.verdicts == ["fixed"]


async def test_a_report_that_lacks_a_section_twice_is_asked_for_it_twice(tmp_path: Path) -> None:
    lacking = REPORT.replace("## Evidence\n\ncode.txt\n", "")
    write = f'report cause_1; cat > debug/tests_failures/001_cause_1.md <<"END"\n{lacking}\nEND\n'
    loop = Loop(tmp_path, ["a"], {"diagnose-1-1": write, "diagnose-1-2": write})

    await loop.run()

    for attempt in (2, 3):
        assert "section `Evidence` is missing" in loop.prompt(f"diagnose-1-{attempt}")
    assert loop.verdicts == ["fixed"]


@pytest.mark.parametrize("path", ["notes/001_cause.md", "../001_cause.md", "debug/other/001_cause.md"])
async def test_a_report_outside_its_folder_is_not_accepted(tmp_path: Path, path: str) -> None:
    loop = Loop(tmp_path, ["a"], {"diagnose-1-1": f"echo 'DEBUG_REPORT_PATH: {path}'"})

    await loop.run()

    assert f"the report {path} is not a path like" in loop.prompt("diagnose-1-2")
    assert loop.verdicts == ["fixed"]


async def test_what_the_diagnosing_agent_changes_outside_debug_is_undone(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a", "b"], {"diagnose-1": "repair a; echo x > new.txt; report cause_1"})

    await loop.run()

    assert not (loop.folder / "new.txt").exists()
    assert loop.notes("applied")[0]["files"] == ["code.txt"]


async def test_a_fix_that_changes_nothing_is_a_failed_iteration(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"fix-1": "echo 'Changes made: none'"})

    await loop.run()

    assert loop.verdicts == ["no_change", "fixed"]


@pytest.mark.parametrize(
    ("play", "finding"),
    [
        ("echo 'def test_new(): pass' >> tests/test_code.py", "tests/test_code.py"),
        ("sed -i /assert/d tests/test_code.py", "tests/test_code.py"),
        ("sed -i '1i import pytest\\npytestmark = pytest.mark.skip' tests/test_code.py", "tests/test_code.py"),
        ("sed -i s/90/10/ .coveragerc", ".coveragerc"),
        ("echo 'exit 0' > check.sh", "check.sh is what the tests are started with"),
        ("echo 'on: push' >> .github/workflows/ci.yml", ".github/workflows/ci.yml"),
    ],
)
async def test_a_fix_that_changes_tests_is_refused_and_undone(tmp_path: Path, play: str, finding: str) -> None:
    loop = Loop(tmp_path, ["a"], {"fix-1": f"repair a; {play}"})
    for name, text in {
        "tests/test_code.py": "def test_code():\n    assert open('code.txt').read()\n",
        ".coveragerc": "[report]\nfail_under = 90\n",
        ".github/workflows/ci.yml": "name: ci\n",
    }.items():
        (loop.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (loop.folder / name).write_text(text)

    await loop.run()

    assert loop.verdicts == ["refused", "fixed"]
    assert any(finding in each for each in loop.notes("applied")[0]["touches_tests"])
    assert "Refused, because tests may not be changed" in loop.prompt("diagnose-2-1")
    assert (loop.folder / "tests/test_code.py").read_text().count("assert") == 1


async def test_tests_may_be_changed_where_the_flow_allows_it(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"fix": "repair a; mkdir -p tests; echo 'x = 1' > tests/test_code.py"})

    await loop.run(loop.flow(allow_tests=True))

    assert loop.verdicts == ["fixed"]


async def test_a_fix_with_too_many_lines_is_refused(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"fix-1": "repair a; seq 100 > numbers.txt"})

    await loop.run(loop.flow(lines=50))

    assert loop.verdicts == ["refused", "fixed"]
    assert "102 changed lines, and at most 50 lines are allowed" in loop.notes("judged")[0]["why"]
    assert not (loop.folder / "numbers.txt").exists()


async def test_an_agent_that_is_not_installed_ends_the_loop_at_once(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"])
    (loop.folder / ".pitstop/agents/scripted.yaml").write_text("extends: command\ncommand: [no-such-program]\n")

    summary = await loop.run()

    assert summary.status == "failed"
    (escalated,) = loop.notes("escalated")
    assert escalated["reason"] == "agent"
    assert "no-such-program" in escalated["why"]


# Tests


@pytest.mark.parametrize(
    ("script", "evidence"),
    [("no-such-command-here", "127"), ("kill -9 $$", "killed"), ("touch x; ./x", "126")],
)
async def test_tests_that_cannot_start_call_no_agent(tmp_path: Path, script: str, evidence: str) -> None:
    loop = Loop(tmp_path, ["a"])

    summary = await loop.run(loop.flow(script))

    assert summary.status == "failed"
    assert loop.asked() == []
    assert loop.notes("triaged")[0]["verdict"] == "infrastructure"
    assert evidence in loop.notes("triaged")[0]["evidence"][0]
    assert (loop.ended["outcome"], loop.ended["iterations"]) == ("infrastructure", 0)


async def test_tests_that_pass_on_retry_are_flaky_and_call_no_agent(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"])

    summary = await loop.run(loop.flow(f"test -e {tmp_path}/ran || {{ touch {tmp_path}/ran; sh check.sh; }}"))

    assert summary.status == "passed"
    assert loop.asked() == []
    assert loop.ended["outcome"] == "flaky"
    assert "passed when run again" in loop.ended["why"]


async def test_tests_that_fail_on_the_base_too_are_not_blamed_on_the_change(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"])
    loop.commit()
    (loop.folder / "change.txt").write_text("a change\n")
    loop.git("checkout", "-qb", "topic")
    loop.git("add", "-A")
    loop.git("commit", "-qm", "second")

    summary = await loop.run(loop.flow(base="HEAD~1"), commit="HEAD")

    assert summary.status == "failed"
    assert loop.asked() == []
    assert loop.ended["outcome"] == "pre_existing"
    assert "1 of 1 failures exist at" in loop.ended["why"]


async def test_only_what_the_change_broke_is_fixed(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["old"])
    (loop.folder / "all").touch()  # the tests report all mistakes
    loop.commit()
    (loop.folder / "code.txt").write_text("old\nnew\n")
    loop.git("add", "-A")
    loop.git("commit", "-qm", "second")
    flow = loop.flow(base="HEAD~1", allow_pre_existing=True)
    (tmp_path / "plays" / "fix").write_text("repair new")

    summary = await loop.run(flow, commit="HEAD")

    assert summary.status == "passed", summary
    assert loop.verdicts == ["fixed"]
    assert loop.ended["outcome"] == "pre_existing"


async def test_a_fix_whose_tests_fail_when_run_again_is_flaky(tmp_path: Path) -> None:
    count = f"echo >> {tmp_path}/count; test $(wc -l < {tmp_path}/count) -eq 3"  # only the third run passes
    loop = Loop(tmp_path, ["a"])

    await loop.run(loop.flow(f"if {count}; then exit 0; fi; echo 'FAILED tests/test_code.py::test_a'; exit 1"))

    assert loop.verdicts == ["flaky"]
    assert "failed when run again" in loop.ended["why"]


async def test_files_that_go_from_a_to_b_and_back_to_a_escalate_early(tmp_path: Path) -> None:
    plays = {
        "fix-1": "repair a b",
        "fix-2": "repair b a",
        "diagnose-2": 'report other "something else entirely, elsewhere"',
    }
    loop = Loop(tmp_path, ["a"], plays)

    await loop.run()

    assert loop.verdicts == ["moved", "oscillating"]
    assert loop.notes("escalated")[0]["reason"] == "oscillating"


async def test_the_best_files_are_built_on_and_handed_over(tmp_path: Path) -> None:
    plays = {"fix-1": "repair a", "fix-2": "echo worse >> code.txt", "fix-3": "echo worst >> code.txt"}
    loop = Loop(tmp_path, ["a", "b"], plays)
    (loop.folder / "all").touch()

    await loop.run(loop.flow(early_stop=False))

    assert loop.verdicts == ["progress", "worse", "worse"]
    assert [data["best"] for data in loop.notes("judged")] == [1, 1, 1]
    assert loop.code == ["ok_a", "b"]
    assert len(list((loop.folder / "debug/tests_failures").iterdir())) == 3


# Budgets


async def test_a_loop_whose_time_is_up_escalates_with_the_budget(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"fix": "echo x >> notes.txt"})

    await loop.run(loop.flow("sleep 0.6; sh check.sh", time=2, early_stop=False))

    (escalated,) = loop.notes("escalated")
    assert escalated["reason"] == "budget"
    assert "(`time`)" in escalated["why"]


# State


async def test_a_report_that_was_removed_is_noticed(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"fix-1": "rm -r debug; echo x > notes.txt"})

    await loop.run()

    (escalated,) = loop.notes("escalated")
    assert escalated["reason"] == "state"
    assert "001_cause_1.md is missing" in escalated["why"]


async def test_a_workspace_without_git_is_fixed_and_gets_no_repository(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"])

    await loop.run()

    assert loop.ended["outcome"] == "fixed"
    assert not (loop.folder / ".git").exists()


async def test_a_report_that_the_agent_does_not_name_is_found(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"diagnose": "report cause_1 > /dev/null"})

    await loop.run()

    assert loop.asked() == ["diagnose-1-1", "fix-1-1"]
    assert loop.ended["outcome"] == "fixed"


async def test_tests_that_fail_differently_each_time_are_left_out_of_the_verdicts(tmp_path: Path) -> None:
    count = f"echo >> {tmp_path}/count; n=$(wc -l < {tmp_path}/count)"
    script = f'{count}; echo "FAILED tests/test_code.py::test_$n - AssertionError: no"; sh check.sh; exit 1'
    loop = Loop(tmp_path, ["a"])

    await loop.run(loop.flow(script, iterations=1))

    (triaged,) = loop.notes("triaged")
    assert triaged["verdict"] == "failing"
    assert len(triaged["flaky"]) == 1
    assert loop.ended["outcome"] == "escalated"  # what fails now was never seen before


async def test_agents_that_cost_too_much_end_the_loop_with_the_budget(tmp_path: Path) -> None:
    result = '{"type":"result","subtype":"success","is_error":false,"result":"done","total_cost_usd":0.75,"usage":{}}'
    loop = Loop(tmp_path, ["a"], {"fix": f"echo guess >> notes.txt; echo '{result}'"})
    profile = "extends: command\ncommand: [sh, agent.sh]\nstream: claude\n"
    (loop.folder / ".pitstop/agents/costly.yaml").write_text(profile)

    await loop.run(loop.flow(fix="costly", cost=0.5, early_stop=False))

    (escalated,) = loop.notes("escalated")
    assert escalated["reason"] == "budget"
    assert "0.75 dollars, and at most 0.50 are allowed" in escalated["why"]
    assert loop.ended["cost"] == 0.75


async def test_a_branch_that_was_moved_is_noticed(tmp_path: Path) -> None:
    loop = Loop(
        tmp_path,
        ["a"],
        {
            "fix-1": "for ref in $(git for-each-ref --format='%(refname)' refs/heads/fix); do "
            "git update-ref $ref HEAD; done; echo x > notes.txt; exit 9"
        },
    )
    loop.commit()

    await loop.run()

    (escalated,) = loop.notes("escalated")
    assert escalated["reason"] == "state"
    assert "is not at" in escalated["why"]


async def test_agents_get_their_own_secrets_and_not_those_of_the_tests(tmp_path: Path) -> None:
    show = f"env | grep -o '^[A-Z]*_KEY' > {tmp_path}/seen-$PITSTOP_FIX_ROLE"
    loop = Loop(tmp_path, ["a"], {"diagnose": f"{show}; report cause", "fix": f"{show}; repair a"})
    flow = loop.flow(f"env | grep -o '^[A-Z]*_KEY' > {tmp_path}/seen-tests; sh check.sh", secrets=["AGENT_KEY"])
    flow = flow.replace("id: tests\n", "id: tests\n  secrets: [TEST_KEY]\n", 1)

    await loop.run(flow, secrets={"AGENT_KEY": "value-of-the-agent", "TEST_KEY": "value-of-the-tests"})

    assert loop.ended["outcome"] == "fixed"
    seen = {name: (tmp_path / f"seen-{name}").read_text().split() for name in ("diagnose", "fix", "tests")}
    assert seen == {"diagnose": ["AGENT_KEY"], "fix": ["AGENT_KEY"], "tests": ["TEST_KEY"]}
