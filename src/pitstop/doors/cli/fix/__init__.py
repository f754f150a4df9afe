"""`pitstop fix`: the fix loop around a command, on a copy of the user's files."""
