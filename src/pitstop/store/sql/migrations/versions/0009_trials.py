"""Trials of agents in the playground."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_OPEN = sa.text("ended_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "trials",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("repo", sa.Text, nullable=False),
        sa.Column("group", sa.Text, nullable=False),
        sa.Column("ref", sa.Text),
        sa.Column("sha", sa.Text, nullable=False),
        sa.Column("profile", sa.Text, nullable=False),
        sa.Column("prompt", sa.Text, nullable=False),
        sa.Column("settings", sa.LargeBinary, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("firing", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("to_sha", sa.Text),
        sa.Column("branch", sa.Text),
        sa.Column("live", sa.LargeBinary, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double),
        sa.Column("ended_at", sa.Double),
    )
    op.create_index("trials_by_age", "trials", ["created_at", "id"])
    op.create_index("trials_by_repo", "trials", ["repo", "created_at", "id"])
    op.create_index("trials_by_run", "trials", ["run"], unique=True)
    op.create_index("trials_open", "trials", ["repo"], sqlite_where=_OPEN, postgresql_where=_OPEN)


def downgrade() -> None:
    op.drop_table("trials")
