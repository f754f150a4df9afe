"""Commands as processes, each with a supervisor that leaves nothing of it behind."""
