"""The `agent` step: what it reports, hands on and commits, and what becomes of one that misbehaves."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.steps.agents.agent_bench import GATED, KEY, KEYS, AgentBench, next_stop, open_agent_bench, processes_with
from tests.steps.bench import is_alive

EVERY_FORMAT = (*GATED, "opencode", "aider", "lines")
EDIT = {"tool": "edit", "path": "hello.txt", "content": "hello\n"}
LIST = {"tool": "shell", "command": "echo one two"}


@pytest.mark.parametrize("agent", EVERY_FORMAT)
async def test_an_agent_changes_files_and_says_what_it_did(agents: AgentBench, agent: str) -> None:
    edit = EDIT if agent != "lines" else {"tool": "shell", "command": "echo hello > hello.txt"}
    script = {"cost": 0.25, "tokens": {"in": 1000, "out": 50, "cached": 10}}

    more = {"env": {"OPENAI_API_KEY": "none"}} if agent in ("opencode", "aider") else {}
    outputs = await agents.outputs(agents.config(agent, [{"say": "I am on it"}, edit], script=script, **more))

    assert outputs["status"] == "passed"
    assert outputs["files"] == ["hello.txt"]
    assert (agents.repo / "hello.txt").read_text() == "hello\n"
    assert "I am on it" in agents.bench.said
    (ended,) = agents.notes("agent.ended")
    assert ended["status"] == "passed"
    if agent in ("claude", "opencode"):
        assert (outputs["cost"], outputs["tokens"]) == (0.25, {"in": 1000, "out": 50, "cached": 10})


@pytest.mark.parametrize("agent", GATED)
async def test_calls_are_noted_with_their_class_and_their_results(agents: AgentBench, agent: str) -> None:
    await agents.outputs(agents.config(agent, [LIST, EDIT]))

    called = agents.notes("agent.called")
    assert [(each["call"], each["tool"]) for each in called] == [("1", "shell"), ("2", "edit")]
    assert called[0]["command"] == "echo one two"
    assert called[1]["paths"] == ["hello.txt"]
    returned = agents.notes("agent.returned")
    assert [(each["call"], each["ok"]) for each in returned] == [("1", True), ("2", True)]
    assert "one two" in returned[0]["output"]
    assert "[1] shell: echo one two" in agents.bench.said


async def test_any_command_can_be_an_agent(agents: AgentBench) -> None:
    command = ["sh", "-c", "cat > prompt.txt; echo done"]

    outputs = await agents.outputs({"prompt": "Say hello", "command": command, "rules": False})

    assert outputs["text"] == "done"
    assert (agents.repo / "prompt.txt").read_text() == "Say hello\n"


async def test_pitstop_commits_what_the_agent_changed_as_one_commit_on_its_branch(agents: AgentBench) -> None:
    steps = [EDIT, {"commit": "mine"}, {"tool": "shell", "command": "git checkout -q -b other; echo more > more.txt"}]
    branch = agents.git("symbolic-ref", "HEAD")

    outputs = await agents.outputs(agents.config("claude", steps, commit=True))

    assert agents.git("log", "--format=%an %s").splitlines() == ["Pitstop Make it work", "Test first"]
    assert agents.git("symbolic-ref", "HEAD") == branch
    assert agents.git("rev-parse", "HEAD").strip() == outputs["commit"]
    assert outputs["files"] == ["hello.txt", "more.txt"]
    assert agents.git("status", "--porcelain") == ""


async def test_without_commit_the_changes_stay_in_the_tree_even_if_the_agent_committed(agents: AgentBench) -> None:
    outputs = await agents.outputs(agents.config("claude", [EDIT, {"commit": "mine"}]))

    assert "commit" not in outputs
    assert agents.git("log", "--format=%s").splitlines() == ["first"]
    assert outputs["files"] == ["hello.txt"]


async def test_settings_of_git_that_an_agent_changed_are_put_back_and_never_run(agents: AgentBench) -> None:
    trap = agents.repo.parent / "trap"
    config = (
        f"git config filter.trap.clean 'touch {trap}; cat'; git config core.fsmonitor 'touch {trap}'; "
        f"printf '[filter \"trap\"]\\nclean = touch {trap}\\n' > ~/.gitconfig; echo '* filter=trap' > .gitattributes"
    )
    before = agents.git("config", "--list")

    outputs = await agents.outputs(agents.config("claude", [{"tool": "shell", "command": config}, EDIT], commit=True))

    assert outputs["files"] == [".gitattributes", "hello.txt"]
    assert not trap.exists()
    assert agents.git("config", "--list") == before


async def test_an_agent_is_not_started_where_its_changes_could_not_be_told_from_others(agents: AgentBench) -> None:
    agents.write("mine.txt", "not committed")

    told = await agents.failure(agents.config("claude", [EDIT], commit=True))

    assert "the workspace has changes that are not committed (mine.txt)" in told
    assert not agents.calls


async def test_the_prompt_has_the_task_and_the_rules_of_the_project_as_they_are_committed(agents: AgentBench) -> None:
    agents.write("AGENTS.md", "Use tabs.\n")
    agents.git("add", "-A")
    agents.git("commit", "--quiet", "--message=rules")
    agents.write("AGENTS.md", "Use spaces.\n")
    prompt = agents.repo.parent / "prompt"

    await agents.outputs(
        agents.config("claude", [], script={"record_prompt": str(prompt)}, instructions="You are careful.")
    )

    text = prompt.read_text()
    assert text.index("You are careful.") < text.index("Make it work") < text.index("Use tabs.")
    assert "Use spaces" not in text


async def test_the_prompt_is_in_no_argument_and_the_environment_has_nothing_of_the_place(
    agents: AgentBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/agent")
    words, variables = agents.repo.parent / "argv", agents.repo.parent / "env"
    words, variables = agents.repo.parent / "argv", agents.repo.parent / "env"
    recorded = {"record_argv": str(words), "record_env": str(variables)}
    config = agents.config("codex", [], script=recorded, env={"MORE": "1"})

    await agents.outputs(config, env={"ALSO": "${{ 1 + 1 }}"}, secrets=("OPENAI_API_KEY",))

    env = json.loads(variables.read_text())
    assert "Make it work" not in words.read_text()
    assert (env["MORE"], env["ALSO"]) == ("1", "2")
    assert env["HOME"].endswith("/home")
    assert KEY not in variables.read_text()
    assert not {"SSH_AUTH_SOCK", "ANTHROPIC_API_KEY", "USER", "VIRTUAL_ENV"} & env.keys()


async def test_without_the_relay_the_agent_has_the_key_that_its_step_lists_and_no_other(agents: AgentBench) -> None:
    variables = agents.repo.parent / "env"
    config = agents.config("codex", [], script={"record_env": str(variables)}, relay=False)

    await agents.outputs(config, secrets=("OPENAI_API_KEY",))

    env = json.loads(variables.read_text())
    assert env["OPENAI_API_KEY"] == KEY
    assert "ANTHROPIC_API_KEY" not in env


async def test_a_relay_that_cannot_be_had_is_refused_with_the_reason(agents: AgentBench) -> None:
    command = {"prompt": "x", "command": ["true"], "relay": True}
    assert "relay: command cannot be pointed at the relay" in await agents.failure(command, continue_on_error=True)

    login = agents.config("claude", [], relay=True, env={"CLAUDE_CODE_OAUTH_TOKEN": "x"})
    assert "a login of the CLI cannot be relayed" in await agents.failure(login, path="again", secrets=())


async def test_a_cost_that_an_agent_does_not_report_needs_prices(agents: AgentBench) -> None:
    told = await agents.failure(agents.config("codex", [], budget={"cost": 1}))

    assert "budget.cost: codex does not report what it costs: add `prices`" in told


async def test_a_session_is_continued(agents: AgentBench) -> None:
    argv = agents.repo.parent / "argv"
    first = agents.config("claude", [], script={"session": "5c71b7ed-0000-4000-8000-0000000000aa"})
    await agents.outputs(first)

    second = agents.config("claude", [], script={"record_argv": str(argv)}, session="continue")
    await agents.outputs(second, path="again")

    words = json.loads(argv.read_text())
    assert words[words.index("--resume") + 1] == "5c71b7ed-0000-4000-8000-0000000000aa"


# --- What can be missing ----------------------------------------------------------------------------------------------


async def test_a_missing_key_is_told_with_the_way_to_give_it(agents: AgentBench) -> None:
    told = await agents.failure(agents.config("claude", [EDIT]), secrets=())

    assert "claude needs a key: give the run the secret ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN" in told
    assert not agents.calls


async def test_a_missing_program_is_told_with_the_way_to_install_it(agents: AgentBench) -> None:
    config = {**agents.config("codex"), "command": ["no-such-codex"]}

    told = await agents.failure(config)

    assert "there is no program `no-such-codex` on the PATH" in told
    assert "npm install -g @openai/codex" in told


async def test_an_unknown_profile_names_the_nearest(agents: AgentBench) -> None:
    assert "did you mean 'claude'?" in await agents.failure({"profile": "clause", "prompt": "x"})


async def test_a_repository_has_profiles_of_its_own_as_they_are_committed(agents: AgentBench) -> None:
    prompt = agents.repo.parent / "prompt"
    agents.write(".pitstop/agents/reviewer.yaml", "extends: codex\ninstructions: You review code.\n")
    agents.git("add", "-A")
    agents.git("commit", "--quiet", "--message=profile")
    agents.write(".pitstop/agents/reviewer.yaml", "instructions: You are evil.\n")

    config = {**agents.config("codex", [EDIT], script={"record_prompt": str(prompt)}), "profile": "reviewer"}
    await agents.outputs(config)

    assert prompt.read_text().startswith("You review code.\n\nMake it work")
    assert agents.notes("agent.started")[0]["profile"] == "reviewer"


async def test_a_profile_runs_on_another_cli_and_a_broken_one_is_told(agents: AgentBench) -> None:
    agents.write(".pitstop/agents/reviewer.yaml", "instructions: You review code.\n")
    agents.write(".pitstop/agents/broken.yaml", "instructions: [1]\nspeed: 3\n")
    agents.git("add", "-A")
    agents.git("commit", "--quiet", "--message=profiles")

    config = {**agents.config("gemini", [EDIT], cli="gemini"), "profile": "reviewer"}
    await agents.outputs(config, continue_on_error=True)
    told = await agents.failure({"profile": "broken", "prompt": "x"}, path="again")

    assert "invalid profile .pitstop/agents/broken.yaml: " in told


# --- Budgets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "script", "told"),
    [
        ({"turns": 2}, {}, "used 3 turns, and its budget of turns is 2"),
        ({"cost": 0.5}, {"cost": 0.75}, "used 0.75 USD, and its budget of cost is 0.50 USD"),
        ({"tokens": 100}, {"tokens": {"in": 100, "out": 1}}, "used 101 tokens, and its budget of tokens is 100"),
        ({"lines": 2}, {}, "used 3 changed lines, and its budget of lines is 2"),
    ],
)
async def test_a_budget_ends_the_agent(
    agents: AgentBench, budget: dict[str, Any], script: dict[str, Any], told: str
) -> None:
    edits = [{**EDIT, "path": f"{name}.txt"} for name in "abc"]

    assert told in await agents.failure(agents.config("claude", edits, script=script, budget=budget))


async def test_commits_of_an_agent_that_a_budget_ended_are_taken_back(agents: AgentBench) -> None:
    await agents.failure(agents.config("claude", [EDIT, {"commit": "mine"}, LIST, LIST], budget={"turns": 2}))

    assert agents.git("log", "--format=%s").splitlines() == ["first"]
    assert agents.git("status", "--porcelain").split() == ["A", "hello.txt"]


async def test_time_at_a_stop_does_not_count_as_work(agents: AgentBench) -> None:
    config = agents.config("claude", [LIST], budget={"time": 5})

    async with agents.debugging(config, tool="any") as (session, task):
        stop = await next_stop(session)
        activation = session.activation_at(stop)
        assert activation.parent is not None
        loop = asyncio.get_running_loop()
        assert activation.parent.meter.paused_by(loop.time() + 100) > 99
        await session.continue_(stop)
        assert (await task).outputs["status"] == "passed"


async def test_an_agent_that_hangs_is_ended_at_its_time_with_all_that_it_started(agents: AgentBench) -> None:
    pid = agents.repo.parent / "pid"
    steps: list[dict[str, Any]] = [{"daemon": 1000, "pid_file": str(pid)}, {"hang": True}]

    told = await agents.failure(agents.config("claude", steps, budget={"time": 0.3}))

    assert "its budget of time is 0.3 s" in told
    assert not is_alive(int(pid.read_text()))


# --- Agents that misbehave --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [
        {"flood": 3000},
        {"long_line": 17 * 1024 * 1024},
        {"bad_utf8": True},
        {"wrong_shapes": True},
        {"raw": "{not json\n\n"},
        {"parallel": [LIST, {"tool": "shell", "command": "echo three"}], "in_reverse": True},
        {"tool": "task", "steps": [LIST, EDIT]},
    ],
    ids=lambda step: next(iter(step)),
)
async def test_whatever_an_agent_writes_it_can_go_on(agents: AgentBench, step: dict[str, Any]) -> None:
    outputs = await agents.outputs(agents.config("claude", [step, {"say": "finished"}]))

    assert outputs["text"] == "finished"
    calls = {each["call"]: each["ok"] for each in agents.notes("agent.returned")}
    assert all(calls.values())
    if step.get("tool") == "task":
        assert set(calls) == {"1", "1/1", "1/2"}
    if "parallel" in step:
        outputs_by_call = {each["call"]: each["output"].strip() for each in agents.notes("agent.returned")}
        assert outputs_by_call == {"1": "one two", "2": "three"}


async def test_more_calls_than_a_run_can_store_end_the_agent(
    agents: AgentBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pitstop.steps.agents.work.MOST_NOTES", 100)

    told = await agents.failure(agents.config("opencode", [{"flood_calls": 200}], env={"OPENAI_API_KEY": "x"}))

    assert "it wrote more than 100 events" in told


@pytest.mark.parametrize("step", [{"half_line": '{"type":"assi'}, {"crash": True}, {"exit": 3}], ids=str)
async def test_an_agent_that_ends_without_a_result_has_failed(agents: AgentBench, step: dict[str, Any]) -> None:
    assert "claude failed: " in await agents.failure(agents.config("claude", [EDIT, step]))


async def test_an_agent_that_says_that_it_failed_has_failed(agents: AgentBench) -> None:
    script = {"status": "failed", "reason": "the model is overloaded"}

    outcome = await agents.run(agents.config("codex", [EDIT], script=script))

    assert "codex failed: the model is overloaded" in str(outcome.error)
    assert outcome.outputs["files"] == ["hello.txt"]


@pytest.mark.parametrize("agent", GATED)
async def test_a_call_that_did_not_come_through_the_gate_ends_the_agent(agents: AgentBench, agent: str) -> None:
    told = await agents.failure(agents.config(agent, [LIST, {**LIST, "command": "echo sneaky", "ungated": True}]))

    assert f"{agent} was ended: it made call 2 (shell: echo sneaky) without asking its gate" in told


async def test_a_call_that_the_cli_itself_found_invalid_needs_no_gate(agents: AgentBench) -> None:
    invalid = {"name": "Nonsense", "input": {"x": 1}, "ungated": True, "output": "<tool_use_error>no such tool"}

    await agents.outputs(agents.config("claude", [{**invalid, "fails": True}]))

    assert agents.notes("agent.refused") == [{"call": "1", "reason": "no such tool", "by": "agent"}]


async def test_an_agent_that_removes_the_workspace_fails_no_later_step(agents: AgentBench) -> None:
    outputs = await agents.outputs(agents.config("claude", [{"delete_workspace": True}]))

    assert outputs["files"] == []
    assert agents.repo.is_dir()


async def test_what_an_agent_leaves_behind_is_ended(agents: AgentBench) -> None:
    pid = agents.repo.parent / "pid"

    await agents.outputs(agents.config("gemini", [{"daemon": 1000, "pid_file": str(pid)}]))

    assert not is_alive(int(pid.read_text()))


async def test_nothing_is_left_of_an_agent_that_starts_many_processes(agents: AgentBench) -> None:
    await agents.outputs(agents.config("codex", [{"fork_bomb": 100}]))

    assert "started 100 processes" in agents.bench.said
    assert not processes_with(f"PITSTOP_WORKSPACE={agents.repo}", file="environ")


async def test_a_cancelled_agent_is_interrupted_and_leaves_no_process(agents: AgentBench) -> None:
    pid = agents.repo.parent / "pid"
    steps: list[dict[str, Any]] = [{"daemon": 1000, "pid_file": str(pid)}, {"say": "waiting"}, {"hang": True}]
    async with asyncio.TaskGroup() as group:
        task = group.create_task(agents.run(agents.config("claude", steps, script={"ignore_sigterm": True})))
        await agents.bench.wait_said("waiting")
        task.cancel()

    assert task.cancelled()
    assert not is_alive(int(pid.read_text()))


async def test_settings_of_agents_in_the_checkout_are_not_used(agents: AgentBench) -> None:
    argv = agents.repo.parent / "argv"
    await agents.outputs(agents.config("claude", [], script={"record_argv": str(argv)}))
    assert {"--setting-sources=user", "--strict-mcp-config"} <= set(json.loads(argv.read_text()))

    await agents.outputs(agents.config("codex", [], script={"record_argv": str(argv)}), path="again")
    assert "--ignore-user-config" in json.loads(argv.read_text())


async def test_a_secret_that_an_agent_reads_is_nowhere_in_what_is_stored(agents: AgentBench) -> None:
    show = {"tool": "shell", "command": f"echo $ANTHROPIC_API_KEY {KEY}; env > env.txt"}

    outcome = await agents.run(agents.config("claude", [{"say": f"the key is {KEY}"}, show]))

    assert KEY not in agents.bench.said
    assert KEY not in str(outcome)
    assert not any(KEY in str(event) for event in agents.log.read())


@pytest.mark.parametrize("agent", ["claude", "codex"])
async def test_an_agent_works_on_another_machine(tmp_path: Path, agent: str) -> None:
    async with open_agent_bench(tmp_path, is_far=True) as agents:
        config = agents.config(agent, [LIST, {"tool": "shell", "command": "echo hello > hello.txt"}], commit=True)
        async with agents.debugging(config, tool="shell") as (session, task):
            stop = await next_stop(session)
            await session.override_config(stop, {"command": "echo far"})
            await session.continue_all()
            session.clear_breakpoints()
            assert (await task).outputs["files"] == ["hello.txt"]

    assert agents.calls[0]["input"]["command"] == "echo far"


def test_every_agent_with_a_gate_names_its_key() -> None:
    assert set(KEYS) == set(GATED)
