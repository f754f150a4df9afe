"""Cards with their attempts and notes, and which firings are of a card."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_OPEN = sa.text("is_open")


def upgrade() -> None:
    op.add_column("repos", sa.Column("next_card", sa.BigInteger, nullable=False, server_default="1"))
    op.add_column("firings", sa.Column("card", sa.Text))
    op.add_column("firings", sa.Column("is_open", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_index("firings_by_card", "firings", ["card", "id"])
    op.create_index("firings_open", "firings", ["id"], sqlite_where=_OPEN, postgresql_where=_OPEN)
    op.create_table(
        "cards",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("repo", sa.Text, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("position", sa.Double, nullable=False),
        sa.Column("work", sa.LargeBinary, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("profile", sa.Text),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("base", sa.Text, nullable=False),
        sa.Column("branch", sa.Text),
        sa.Column("base_sha", sa.Text),
        sa.Column("head_sha", sa.Text),
        sa.Column("merged_sha", sa.Text),
        sa.Column("landed_at", sa.Double),
        sa.Column("conflict", sa.LargeBinary),
        sa.Column("attempt", sa.BigInteger, nullable=False),
        sa.Column("run", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("depth", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
    )
    op.create_index("cards_by_number", "cards", ["repo", "number"], unique=True)
    op.create_index("cards_by_place", "cards", ["repo", "status", "position"])
    op.create_table(
        "attempts",
        sa.Column("card", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("repo", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("profile", sa.Text),
        sa.Column("from_sha", sa.Text, nullable=False),
        sa.Column("work_sha", sa.Text),
        sa.Column("parents", sa.LargeBinary, nullable=False),
        sa.Column("to_sha", sa.Text),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("live", sa.LargeBinary, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("prompt", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
    )
    op.create_index("attempts_by_run", "attempts", ["run"], unique=True)
    op.create_table(
        "card_notes",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("card", sa.Text, nullable=False),
        sa.Column("repo", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("file", sa.Text),
        sa.Column("line", sa.BigInteger),
        sa.Column("side", sa.Text, nullable=False),
        sa.Column("sha", sa.Text),
        sa.Column("resolved", sa.Boolean, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_index("card_notes_by_card", "card_notes", ["card", "id"])


def downgrade() -> None:
    for table in ("card_notes", "attempts", "cards"):
        op.drop_table(table)
    op.drop_index("firings_open", "firings")
    op.drop_index("firings_by_card", "firings")
    op.drop_column("firings", "is_open")
    op.drop_column("firings", "card")
    op.drop_column("repos", "next_card")
