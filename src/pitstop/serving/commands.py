"""`pitstop up` and `pitstop serve`, and what tends the database of a server: `gc`, `backup`, `restore`."""

import argparse
import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvloop
from msgspec.structs import replace

from pitstop.app import new_executor, new_snapshots
from pitstop.definition.durations import parse_duration
from pitstop.engine.clock import SystemClock
from pitstop.errors import PitstopError
from pitstop.runs.collecting import is_done_with, remove_old_snapshots, remove_old_workspaces
from pitstop.service.stored.answers import StoredAnswers
from pitstop.serving.house import PORT, Open, Serving, serve
from pitstop.serving.json_log import log_to_stderr
from pitstop.serving.login import link_to_running, show_link
from pitstop.serving.telemetry import set_up_traces
from pitstop.settings import Settings, read_settings
from pitstop.store.sql.backup import write_backup
from pitstop.store.sql.store import open_sql_store, restore_sql_store

LEVELS = ("debug", "info", "warning", "error")


def up_command(words: Sequence[str], open_service: Any, interrupts: Any) -> int:
    """The server of one person: it says where it is, and opens the browser there."""
    parser = _parser("up", "Start Pitstop on this machine and open it in the browser.")
    parser.add_argument("--no-browser", action="store_true", help="only print the link")
    options = parser.parse_args(words)
    log_to_stderr(options.log_level or "warning", as_json=False)
    running = link_to_running(_settings(options)) if set(words) <= {"--no-browser"} else None
    if running is not None:
        print("Pitstop is already running: use --port to start another server.", flush=True)
        show_link(running, options.no_browser)
        return 0

    def tell(house: Open) -> None:
        print(f"Pitstop is running at {house.url}", flush=True)
        show_link(house.login_link(), options.no_browser)
        print("Press Ctrl-C to stop. Unfinished runs resume on the next start.", flush=True)

    uvloop.run(serve(_serving(options), tell))
    return 0


def serve_command(words: Sequence[str], open_service: Any, interrupts: Any) -> int:
    """The same for a team: no browser, logs as JSON lines, and systemd is told when it is ready."""
    options = _parser("serve", "Start Pitstop as a service, without a browser and with JSON logs.").parse_args(words)
    log_to_stderr(options.log_level or "info", as_json=True)
    set_up_traces()
    uvloop.run(serve(_serving(options), lambda _: None))
    return 0


def gc_command(words: Sequence[str], open_service: Any, interrupts: Any) -> int:
    """Forget old runs and what is left of their files, and give the space back."""
    parser = argparse.ArgumentParser(
        prog="pitstop gc",
        description="Delete old runs of a server, and expired workspaces and snapshots. "
        "Pinned runs, and runs whose workspace is kept, are not deleted.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--older-than", metavar="TIME", default="30d", help="delete runs that ended longer ago than this (30d)"
    )
    parser.add_argument("--keep-last", metavar="N", type=int, default=50, help="always keep the newest N (50)")
    _add_database(parser)
    options = parser.parse_args(words)
    try:
        seconds = parse_duration(options.older_than)
    except ValueError as error:
        parser.error(f"--older-than {options.older_than}: {error}")

    async def collect() -> str:
        settings, now = _settings(options), SystemClock().now()
        store = await open_sql_store(settings.database)
        executor = new_executor(settings)
        try:
            collected = await store.gc(seconds, options.keep_last)
            await StoredAnswers(store.database).forget_old()

            async def is_done(run: str) -> bool:
                return await is_done_with(run, store, settings.runs, now)

            workspaces = await remove_old_workspaces(executor, is_done)
            freed = await remove_old_snapshots(new_snapshots(settings), is_done, now)
        finally:
            await executor.close()
            await store.close()
        freed += collected.freed_bytes
        return f"deleted {len(collected.runs)} runs and {workspaces} workspaces, freed {freed:,} bytes"

    print(asyncio.run(collect()))
    return 0


def backup_command(words: Sequence[str], open_service: Any, interrupts: Any) -> int:
    """Write all that a server keeps into one file, while it goes on."""
    parser = argparse.ArgumentParser(
        prog="pitstop backup",
        description="Back up a server's database to one file, which can be restored into any database. "
        "It does not contain the key of its secrets: store secrets.key separately.",
        allow_abbrev=False,
    )
    parser.add_argument("file", type=Path)
    _add_database(parser)
    options = parser.parse_args(words)

    async def back_up() -> None:
        store = await open_sql_store(_settings(options).database)
        try:
            await write_backup(store.database, options.file)
        finally:
            await store.close()

    asyncio.run(back_up())
    print(f"written to {options.file} ({options.file.stat().st_size:,} bytes)")
    return 0


def restore_command(words: Sequence[str], open_service: Any, interrupts: Any) -> int:
    """Restore a backup into an empty database."""
    parser = argparse.ArgumentParser(
        prog="pitstop restore", description="Restore a backup into an empty database.", allow_abbrev=False
    )
    parser.add_argument("file", type=Path)
    _add_database(parser)
    options = parser.parse_args(words)
    asyncio.run(restore_sql_store(_settings(options).database, options.file))
    print(f"restored from {options.file}")
    return 0


def _parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"pitstop {name}", description=description, allow_abbrev=False)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1: this machine only)")
    parser.add_argument("--port", type=int, help=f"the port ({PORT}, or the next free one)")
    parser.add_argument("--workers", metavar="N", type=int, help="maximum concurrent runs (twice the CPUs)")
    parser.add_argument("--flows", metavar="FOLDER", type=Path, action="append", help="folder with flows")
    parser.add_argument("--allow-host", metavar="NAME", action="append", default=[], help="extra Host header to accept")
    parser.add_argument("--keep", metavar="TIME", default="1d", help="how long to keep workspaces of ended runs (1d)")
    parser.add_argument("--log-level", choices=LEVELS, help="log level of stderr")
    _add_database(parser)
    return parser


def _add_database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--db", metavar="URL", help="the database ($PITSTOP_DB): postgresql://... or sqlite:///PATH")


def _settings(options: argparse.Namespace) -> Settings:
    settings = read_settings()
    return settings if options.db is None else replace(settings, database_url=options.db)


def _serving(options: argparse.Namespace) -> Serving:
    try:
        keep_seconds = parse_duration(options.keep)
    except ValueError as error:
        raise PitstopError(f"--keep {options.keep}: {error}") from error
    if options.workers is not None and options.workers < 1:
        raise PitstopError(f"--workers {options.workers}: must be at least 1")
    return Serving(
        settings=_settings(options),
        host=options.host,
        port=options.port,
        slots=options.workers or 2 * (os.cpu_count() or 2),
        flow_folders=tuple(options.flows or ()),
        allowed_hosts=tuple(options.allow_host),
        keep_seconds=keep_seconds,
    )
