"""How values stand in a column: any text, and any value."""

import re
from hashlib import blake2b
from typing import Any

from sqlalchemy import Dialect, LargeBinary, Text
from sqlalchemy.types import TypeDecorator

from pitstop.store.sql.packing import pack, unpack

LONGEST_NAME = 500  # characters: PostgreSQL has room for 2,700 bytes in an index
_ESCAPE = "\x10"
_cannot_stand = re.compile("[\x00\x10\ud800-\udfff]")
_escaped = re.compile("\x10([0-9a-f]{4})")


def to_column(text: str) -> str:
    """The text with what no database takes (NUL, half a surrogate pair) written out; `from_column` takes it back."""
    return _cannot_stand.sub(lambda found: f"{_ESCAPE}{ord(found[0]):04x}", text)


def from_column(text: str) -> str:
    return _escaped.sub(lambda found: chr(int(found[1], 16)), text) if _ESCAPE in text else text


def name_to_column(name: str) -> str:
    """A name that can stand in an index, however long it is: no two have the same."""
    column = to_column(name)
    if len(column) <= LONGEST_NAME:
        return column
    return f"{column[:LONGEST_NAME]}{_ESCAPE}-{blake2b(column.encode(), digest_size=16).hexdigest()}"


class AnyText(TypeDecorator[str]):
    """Text as Python has it: a path whose bytes are no UTF-8, a message with a NUL in it."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else to_column(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else from_column(value)


class Name(AnyText):
    """Text that is looked for but never read back, as `name_to_column` makes it."""

    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else name_to_column(value)


class Packed(TypeDecorator[Any]):
    """Any value, as `pack` keeps it."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes:
        return pack(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:
        return None if value is None else unpack(value)
