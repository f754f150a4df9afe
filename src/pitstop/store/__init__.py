"""Where facts are kept: runs, their logs, what their steps wrote, and what belongs to the service itself."""
