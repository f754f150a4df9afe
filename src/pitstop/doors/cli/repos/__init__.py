"""The commands for repositories: taking one in, looking at them, and landing what is finished."""
