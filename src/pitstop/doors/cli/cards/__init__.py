"""The command for cards: looking at them, starting them, and reviewing what came of that."""
