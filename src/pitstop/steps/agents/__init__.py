"""Agents as steps: the step type, their streams, the gates that hold their tool calls, and the built-in profiles."""
