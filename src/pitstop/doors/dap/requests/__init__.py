"""The requests of an editor, a file for each family."""
