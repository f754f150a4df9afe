"""Runs in a database: SQLite by default, PostgreSQL by URL."""
