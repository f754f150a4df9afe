"""The place in a list at which its next page begins, as text that nobody has to understand."""

import base64
import binascii
import json

from pitstop.errors import BadCursor


def cursor_after(created_at: float, run: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([created_at, run]).encode()).decode()


def read_cursor(cursor: str) -> tuple[float, str]:
    """BadCursor."""
    try:
        created_at, run = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        return float(created_at), str(run)
    except (ValueError, TypeError, binascii.Error) as error:
        raise BadCursor(cursor) from error
