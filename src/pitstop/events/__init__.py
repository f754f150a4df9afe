"""WHAT HAPPENED: facts, the log that keeps them, and the state they add up to."""
