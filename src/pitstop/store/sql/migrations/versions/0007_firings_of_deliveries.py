"""What each delivery of a webhook started."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("deliveries", sa.Column("firings", sa.LargeBinary))


def downgrade() -> None:
    op.drop_column("deliveries", "firings")
