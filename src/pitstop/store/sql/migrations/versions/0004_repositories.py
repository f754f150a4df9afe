"""Repositories with their pushes, what these start, and the feed of what happens."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_RUN_COLUMNS = ("repo", "ref", "sha", "started_by", "concurrency")
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    for name in _RUN_COLUMNS:
        op.add_column("runs", sa.Column(name, sa.Text))
    op.create_index("runs_by_repo", "runs", ["repo", "created_at", "id"])
    op.add_column("servers", sa.Column("home", sa.Text))
    op.add_column("tokens", sa.Column("scope", sa.Text, nullable=False, server_default="all"))
    op.add_column("tokens", sa.Column("repo", sa.Text))
    op.add_column("tokens", sa.Column("expires_at", sa.Double))
    _create_repositories()
    _create_firings()


def _create_repositories() -> None:
    op.create_table(
        "repos",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("default_branch", sa.Text, nullable=False),
        sa.Column("remote_url", sa.Text),
        sa.Column("home", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("settings", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_table(
        "refs",
        sa.Column("repo", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("sha", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
    )
    op.create_table(
        "pushes",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("repo", sa.Text, nullable=False),
        sa.Column("ref", sa.Text, nullable=False),
        sa.Column("old", sa.Text),
        sa.Column("new", sa.Text),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("via", sa.Text, nullable=False),
        sa.Column("is_forced", sa.Boolean, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("note", sa.Text),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_index("pushes_by_repo", "pushes", ["repo", "id"])
    op.create_table(
        "flow_index",
        sa.Column("repo", sa.Text, primary_key=True),
        sa.Column("ref", sa.Text, primary_key=True),
        sa.Column("path", sa.Text, primary_key=True),
        sa.Column("blob", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("triggers", sa.LargeBinary, nullable=False),
        sa.Column("problems", sa.LargeBinary, nullable=False),
    )


def _create_firings() -> None:
    op.create_table(
        "firings",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("repo", sa.Text, nullable=False),
        sa.Column("flow", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("ref", sa.Text),
        sa.Column("sha", sa.Text),
        sa.Column("subject", sa.LargeBinary, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("run", sa.Text),
        sa.Column("push", sa.BigInteger),
        sa.Column("depth", sa.BigInteger, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_index("firings_by_repo", "firings", ["repo", "id"])
    op.create_index("firings_by_push", "firings", ["push"])
    op.create_index("firings_by_run", "firings", ["run"])
    pending = sa.text("outcome = 'pending'")
    op.create_index("firings_pending", "firings", ["id"], sqlite_where=pending, postgresql_where=pending)
    op.create_table(
        "firing_keys",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("repo", sa.Text, nullable=False),
        sa.Column("firing", sa.BigInteger, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_table(
        "feed",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("topic", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("feed_by_topic", "feed", ["topic", "id"])
    op.create_index("feed_by_age", "feed", ["at"])


def downgrade() -> None:
    for table in ("feed", "firing_keys", "firings", "flow_index", "pushes", "refs", "repos"):
        op.drop_table(table)
    for name in ("expires_at", "repo", "scope"):
        op.drop_column("tokens", name)
    op.drop_column("servers", "home")
    op.drop_index("runs_by_repo", "runs")
    for name in _RUN_COLUMNS:
        op.drop_column("runs", name)
