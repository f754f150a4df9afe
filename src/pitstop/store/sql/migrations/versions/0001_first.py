"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("flow", sa.Text, nullable=False),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.Column("error", sa.Text),
        sa.Column("failures", sa.LargeBinary, nullable=False),
        sa.Column("intervened", sa.Boolean, nullable=False),
        sa.Column("request", sa.LargeBinary, nullable=False),
        sa.Column("texts", sa.LargeBinary, nullable=False),
        sa.Column("sealed_secrets", sa.LargeBinary),
        sa.Column("workspace", sa.Text),
        sa.Column("from_run", sa.Text),
        sa.Column("from_step", sa.Text),
        sa.Column("carried_over", sa.BigInteger, nullable=False),
        sa.Column("is_partial", sa.Boolean, nullable=False),
        sa.Column("priority", sa.BigInteger, nullable=False),
        sa.Column("kept_until", sa.Double),
        sa.Column("is_pinned", sa.Boolean, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("lease_until", sa.Double),
    )
    op.create_index("runs_by_age", "runs", ["created_at", "id"])
    op.create_index("runs_by_flow", "runs", ["flow", "created_at", "id"])
    op.create_index("runs_by_status", "runs", ["status", "created_at", "id"])
    op.create_table(
        "events",
        sa.Column("run", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "blobs",
        sa.Column("hash", sa.LargeBinary, primary_key=True),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "blob_uses",
        sa.Column("run", sa.Text, primary_key=True),
        sa.Column("hash", sa.LargeBinary, sa.ForeignKey("blobs.hash"), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_index("blob_uses_by_hash", "blob_uses", ["hash"])
    op.create_table(
        "output",
        sa.Column("run", sa.Text, primary_key=True),
        sa.Column("occurrence", sa.Text, primary_key=True),
        sa.Column("first_line", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("lines", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "artifacts",
        sa.Column("run", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("chunks", sa.LargeBinary, nullable=False),
    )
    op.create_table("deleted_runs", sa.Column("run", sa.Text, primary_key=True))
    op.create_table(
        "flow_settings",
        sa.Column("flow", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("last_used_at", sa.Double),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("run", sa.Text),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("detail", sa.LargeBinary, nullable=False),
    )
    op.create_index("audit_by_run", "audit", ["run", "id"])
    op.create_table(
        "idempotency",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("who", sa.Text, primary_key=True),
        sa.Column("request_hash", sa.LargeBinary, nullable=False),
        sa.Column("response", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_index("idempotency_by_age", "idempotency", ["created_at"])
    op.create_table(
        "servers",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("seen_at", sa.Double, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
    )


def downgrade() -> None:
    for table in (
        "servers",
        "idempotency",
        "audit",
        "tokens",
        "secrets",
        "settings",
        "flow_settings",
        "deleted_runs",
        "artifacts",
        "output",
        "blob_uses",
        "blobs",
        "events",
        "runs",
    ):
        op.drop_table(table)
