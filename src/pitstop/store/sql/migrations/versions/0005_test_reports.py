"""Test reports of runs."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "test_names",
        sa.Column("hash", sa.LargeBinary, primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "test_reports",
        sa.Column("run", sa.Text, primary_key=True),
        sa.Column("step", sa.Text, primary_key=True),
        sa.Column("repo", sa.Text),
        sa.Column("ref", sa.Text),
        sa.Column("flow", sa.Text, nullable=False),
        sa.Column("sha", sa.Text),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("total", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("errors", sa.BigInteger, nullable=False),
        sa.Column("skipped", sa.BigInteger, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("is_complete", sa.Boolean, nullable=False),
        sa.Column("names", sa.LargeBinary, sa.ForeignKey("test_names.hash"), nullable=False),
        sa.Column("results", sa.LargeBinary, nullable=False),
    )
    op.create_index("test_reports_by_step", "test_reports", ["repo", "flow", "step", "at", "run"])
    op.create_index("test_reports_by_ref", "test_reports", ["repo", "ref", "flow", "step", "at", "run"])
    op.create_index("test_reports_by_commit", "test_reports", ["repo", "sha"])
    op.create_index("test_reports_by_names", "test_reports", ["names"])
    op.create_table(
        "test_failures",
        sa.Column("run", sa.Text, primary_key=True),
        sa.Column("step", sa.Text, primary_key=True),
        sa.Column("case", sa.Text, primary_key=True),
        sa.Column("suite", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text),
    )
    op.create_index("test_failures_by_fingerprint", "test_failures", ["fingerprint"])


def downgrade() -> None:
    for table in ("test_failures", "test_reports", "test_names"):
        op.drop_table(table)
