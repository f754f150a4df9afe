"""Flows with a scripted agent, for tests of the doors."""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SCRIPTED = Path(__file__).with_name("scripted.py")


def write_agent_flow(folder: Path, steps: Iterable[Mapping[str, Any]], agent: str = "claude", more: str = "") -> Path:
    """`agent.yaml` in the folder: the step `fix` is an agent that acts out these steps, then `last` runs."""
    (folder / "script.json").write_text(json.dumps({"format": agent, "steps": [*steps]}))
    command = json.dumps([sys.executable, "-S", "-E", str(SCRIPTED), "--script", str(folder / "script.json")])
    flow = folder / "agent.yaml"
    flow.write_text(
        f"""\
name: agent
steps:
  - id: fix
    agent: {agent}
    prompt: Make it work
    command: {command}
    env: {{ANTHROPIC_API_KEY: none, OPENAI_API_KEY: none, GEMINI_API_KEY: none}}
    relay: false
{more}
  - id: last
    run: echo last
"""
    )
    return flow
