"""What the desks store in the database of a server: their tables and queries."""
