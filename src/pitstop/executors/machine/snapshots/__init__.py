"""Snapshots of the files of a workspace: cheap to take, exact when restored."""
