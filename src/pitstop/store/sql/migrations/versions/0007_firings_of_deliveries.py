"""What each delivery of a webhook started; and an index less, which no query uses."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("deliveries", sa.Column("firings", sa.LargeBinary))
    op.drop_index("test_reports_by_commit", "test_reports")


def downgrade() -> None:
    op.create_index("test_reports_by_commit", "test_reports", ["repo", "sha"])
    op.drop_column("deliveries", "firings")
