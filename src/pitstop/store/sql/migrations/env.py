"""What Alembic runs: the migrations, on the connection that `migrate.py` opened and locked."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
