"""Workspaces: the folders in which commands run, and the locks on them."""
