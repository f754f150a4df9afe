"""The migrations, which `migrate.py` runs."""
