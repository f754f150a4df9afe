"""`pitstop debug`: the debugger at a prompt, or steered by a list of commands."""
