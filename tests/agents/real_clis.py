"""The real CLIs of agents, as `make soak PART=agents` installs them, and how a scripted model calls their shells."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.agents.model_server import Call, ModelServer, Turn

PROGRAMS = Path(__file__).parents[2] / "build" / "agents" / "node_modules" / ".bin"


class Cli(Struct, frozen=True):
    """One CLI: the tool that is its shell, that tool's argument, a model whose name it knows, and its secret."""

    tool: str
    argument: str
    model: str
    secret: str
    has_gate: bool = True


CLIS = {
    "claude": Cli("Bash", "command", "claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
    "codex": Cli("exec_command", "cmd", "gpt-5.5", "OPENAI_API_KEY"),
    "gemini": Cli("run_shell_command", "command", "gemini-2.5-pro", "GEMINI_API_KEY"),
    "opencode": Cli("bash", "command", "anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY", has_gate=False),
}
GATED = [agent for agent, cli in CLIS.items() if cli.has_gate]


def program(agent: str) -> str:
    path = PROGRAMS / agent
    assert path.exists(), f"{path} is missing: `make soak PART=agents` installs it"
    return str(path)


def shell(agent: str, *commands: str) -> list[Turn]:
    """A turn with a call of the shell for each command."""
    cli = CLIS[agent]
    return [Turn("I am on it", [Call(cli.tool, {cli.argument: command})]) for command in commands]


def config(agent: str, model: ModelServer, **more: Any) -> dict[str, Any]:
    """The config of a step with the real CLI and this model."""
    return {
        "profile": agent,
        "command": [program(agent)],
        "prompt": "Make it work",
        "model": CLIS[agent].model,
        "api": model.url,
        **more,
    }


def told(model: ModelServer) -> str:
    """What the model was told of its calls, all of it in the last request."""
    return "\n".join(model.requests[-1].results.values())


async def run_as_its_user(agent: str, model: ModelServer, repo: Path, home: Path) -> None:
    """Run the CLI in the repository without Pitstop, as a user does who trusts the repository."""
    trusted = {
        ".codex/config.toml": f'[projects."{repo}"]\ntrust_level = "trusted"\n',
        ".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}),
    }
    for name, text in trusted.items():
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(text)
    of_codex = f'{{name="x",base_url="{model.url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}}'
    words = {
        "claude": ["-p", "--output-format=stream-json", "--verbose", "--permission-mode=bypassPermissions"],
        "codex": [
            *("exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"),
            *("-c", 'model_provider="x"', "-c", f"model_providers.x={of_codex}", "-"),
        ],
        "gemini": ["--output-format=stream-json", "--approval-mode=yolo"],
        "opencode": ["run", "--format=json", "--auto"],
    }
    urls = {"ANTHROPIC_BASE_URL": model.url, "GOOGLE_GEMINI_BASE_URL": model.url}
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), "none")
    own = {"HOME": str(home), "PATH": os.environ["PATH"], "TMPDIR": str(home)}
    provider = {"anthropic": {"options": {"baseURL": f"{model.url}/v1"}}}
    options = {
        "OPENCODE_CONFIG_CONTENT": json.dumps({"provider": provider}),
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",  # without it claude refuses to bypass permissions as root
    }
    first, *rest = words[agent]
    process = await asyncio.create_subprocess_exec(
        *(program(agent), first, "--model", CLIS[agent].model, *rest),
        env={**urls, **keys, **own, **options},
        cwd=repo,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate(b"Make it work")
    assert process.returncode == 0, said.decode(errors="replace")
