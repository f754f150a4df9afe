"""The `pitstop` command."""
