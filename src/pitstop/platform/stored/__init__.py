"""The tables of the platform, and their queries."""
