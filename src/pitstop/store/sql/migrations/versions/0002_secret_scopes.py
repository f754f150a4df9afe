"""Secrets have a scope, and those of the server the repositories that may have them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_NO_REPOS = b"\x90"  # an empty list, packed


def upgrade() -> None:
    """Every secret that is there is one of the server, for no repository."""
    rows = _drop_secrets("SELECT name, sealed, created_at FROM secrets")
    table = op.create_table(
        "secrets",
        sa.Column("scope", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("repos", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.bulk_insert(table, [{**row, "scope": "server", "repos": _NO_REPOS} for row in rows])


def downgrade() -> None:
    """Only the secrets of the server can stay."""
    rows = _drop_secrets("SELECT name, sealed, created_at FROM secrets WHERE scope = 'server'")
    table = op.create_table(
        "secrets",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.bulk_insert(table, rows)


def _drop_secrets(wanted: str) -> list[dict[str, object]]:
    """The rows of the table, which is gone then: SQLite cannot change the key of one."""
    rows = [dict(row) for row in op.get_bind().execute(sa.text(wanted)).mappings()]
    op.drop_table("secrets")
    return rows
