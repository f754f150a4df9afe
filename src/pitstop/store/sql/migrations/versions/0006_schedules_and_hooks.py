"""Schedules of flows, and webhooks with what was delivered to them."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "schedules",
        sa.Column("repo", sa.Text, primary_key=True),
        sa.Column("flow", sa.Text, primary_key=True),
        sa.Column("ordinal", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("spec", sa.LargeBinary, nullable=False),
        sa.Column("next_at", sa.Double),
        sa.Column("last_at", sa.Double),
    )
    op.create_index("schedules_by_time", "schedules", ["next_at"])
    op.create_table(
        "hooks",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("repo", sa.Text, nullable=False),
        sa.Column("flow", sa.Text),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("sealed_secret", sa.LargeBinary, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("last_at", sa.Double),
    )
    op.create_index("hooks_by_repo", "hooks", ["repo"])
    op.create_table(
        "deliveries",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("hook", sa.Text, nullable=False),
        sa.Column("repo", sa.Text, nullable=False),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("delivery", sa.Text, nullable=False),
        sa.Column("status", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("headers", sa.LargeBinary, nullable=False),
        sa.Column("body", sa.LargeBinary),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_index("deliveries_by_hook", "deliveries", ["hook", "id"])


def downgrade() -> None:
    for table in ("deliveries", "hooks", "schedules"):
        op.drop_table(table)
