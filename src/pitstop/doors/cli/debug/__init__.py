"""`pitstop debug`: the debugger at a prompt, or steered by a list of commands."""

from pitstop.doors.cli.debug.command import debug_command, debug_run

__all__ = ["debug_command", "debug_run"]
