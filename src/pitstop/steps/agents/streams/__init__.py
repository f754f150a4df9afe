"""What agent CLIs write to stdout, turned into reports."""
