"""OWNING A RUN: making, running, storing, debugging and recovering one."""
