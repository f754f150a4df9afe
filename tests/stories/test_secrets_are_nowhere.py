"""A flow that leaks its secrets in every way, in eight encodings: nothing that is stored or shown contains one."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest

from pitstop.runs import verbs
from pitstop.runs.live_run import LiveRun
from pitstop.service.caller import LOCAL
from pitstop.service.runs import BreakpointRequest, DebugRequest, RunRequest
from pitstop.serving.house import Serving, open_house
from pitstop.settings import Settings
from pitstop.store.sql.backup import write_backup
from pitstop.store.sql.store import open_sql_store
from tests.amounts import IS_SOAK
from tests.contracts.service_desk import next_stop
from tests.contracts.service_workspace import said_by
from tests.databases import postgres, postgres_url  # noqa: F401 - fixtures
from tests.doors.cli.command_line import PITSTOP
from tests.leaks import Leaks
from tests.patience import PATIENCE_SECONDS

SECRETS = {"TOKEN": "tok3nTOK3Ntok3nTOK3Ntok3nTOK3N", "PHRASE": 'it\'s a "long" phrase/with+signs & ümläuts: 100%'}
LEAKS = Leaks(tuple(SECRETS.values()))
LEAK = """\
import base64, json, os, shlex, sys
from urllib.parse import quote

def wrapped(text, width):
    return "\\n".join(text[i : i + width] for i in range(0, len(text), width))

def encoded(secret):
    raw = ("user:" + secret + ";").encode()
    return [secret, base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode(), raw.hex(),
            raw.hex().upper(),
            quote(secret, safe=""), json.dumps(secret), shlex.quote(secret), wrapped((raw + raw).hex(), 60)]

forms = [form for name in ("TOKEN", "PHRASE") for form in encoded(os.environ[name])]
with open(os.environ["PITSTOP_OUTPUT"], "a") as output:
    for number, form in enumerate(forms):
        print("said", form)
        print("warned", form, file=sys.stderr)
        if "\\n" not in form:
            output.write(f"leak{number}={form}\\n")
        open(f"report-{number}.txt", "w").write("report " + form)
        open(os.environ["PITSTOP_ARTIFACTS"] + f"/direct-{number}", "w").write(form)
open("fine.txt", "w").write("fine")
"""
FLOW = """\
secrets: [TOKEN, PHRASE]
steps:
  - id: write
    write: {path: leak.py, content: LEAK}
  - id: leak
    run: |
      : '${{ .secrets.TOKEN }} ${{ .secrets.PHRASE | @base64 }}'
      cat /proc/[0-9]*/cmdline > "$SEEN/arguments" || true  # one may have ended
      python3 leak.py
    artifacts: ["report-*.txt", fine.txt]
  - id: between
    snapshot: true
    run: rm report-0.txt; echo "${{ .steps.leak.outputs.leak0 }}"
  - id: python
    run: {script: "import sys; sys.exit('it failed with ${{ .secrets.TOKEN }}')", shell: python}
"""


def flow(seen: Path) -> str:
    return FLOW.replace("LEAK", json.dumps(LEAK)) + f"env: {{SEEN: {seen}}}\n"


def test_no_secret_is_stored_or_shown_without_a_server(tmp_path: Path) -> None:
    home, folder, seen = (tmp_path / name for name in ("home", "folder", "seen"))
    folder.mkdir()
    seen.mkdir()
    (folder / "flow.yaml").write_text(flow(seen))
    done = subprocess.run(
        [*PITSTOP, "run", "flow.yaml", "--json", *(f"--secret={name}" for name in SECRETS)],
        cwd=folder,
        env={**os.environ, **SECRETS, "PITSTOP_HOME": str(home)},
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert b"it failed with ***" in done.stdout, done.stdout[-2000:] + done.stderr
    assert LEAKS.found_in(done.stdout + done.stderr) == []
    assert LEAKS.found_in((seen / "arguments").read_bytes()) == []
    assert LEAKS.found_below(home) == {}
    assert [path.name for path in home.glob("runs/*/artifacts/*")] == ["fine.txt"]


@pytest.fixture(
    params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))] if IS_SOAK else ["sqlite"]
)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else f"sqlite:///{tmp_path}/home/p.db"
    assert isinstance(url, str)
    return url


async def leak_in_shell(run: LiveRun, stop: int) -> None:
    """Type a secret and show it, in a shell that is recorded."""
    shell = await run.shell(stop, "alice", record="keys")
    await shell.write(f': {SECRETS["TOKEN"]}; echo "$PHRASE"; echo "$TOKEN$TOKEN" | xxd -p; echo do""ne\r'.encode())
    await said_by(shell, b"done\r\n")
    await shell.close()


@pytest.mark.repeats
async def test_no_secret_is_stored_or_shown_by_a_server(tmp_path: Path, database: str) -> None:
    home, seen = tmp_path / "home", tmp_path / "seen"
    seen.mkdir()
    serving = Serving(settings=Settings(home, database), port=0, drain_seconds=0.1)
    async with asyncio.timeout(PATIENCE_SECONDS), open_house(serving) as house:
        service = house.service
        assert service.secrets is not None
        for name, value in SECRETS.items():
            await service.secrets.put(LOCAL, name, "server", value, [])
        debug = DebugRequest(breakpoints=(BreakpointRequest(step="between"),), stop_on_error=False)
        run = await service.runs.start(LOCAL, RunRequest(flow="flow.yaml", text=flow(seen), debug=debug))
        assert isinstance(run, LiveRun)
        await leak_in_shell(run, (await next_stop(service, run)).id)
        await run.debugger.say(verbs.Continue(all=True))
        await run.wait()
        await run.is_gone.wait()
        shown = str(await run.info()).encode()
        shown += str([event async for event in run.events()]).encode()
        artifacts = {
            each.path: b"".join([data async for data in run.artifact(each.path)]) for each in await run.artifacts()
        }
        store = await open_sql_store(database)
        await write_backup(store.database, tmp_path / "backup.zip")
        await store.close()

    assert LEAKS.found_in((seen / "arguments").read_bytes()) == []
    assert LEAKS.found_in(shown) == []
    assert {path for path in artifacts if not path.startswith("shells/")} == {"fine.txt"}
    assert len(artifacts) == 2
    assert LEAKS.found_in(b"".join(artifacts.values())) == []
    assert LEAKS.found_in_backup(tmp_path / "backup.zip") == {}
    assert LEAKS.found_below(home) == {}
