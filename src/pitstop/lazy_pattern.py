"""`re.compile` of the standard library, which compiles when the pattern is used for the first time.

In a short run most patterns are not, and to compile one takes longer than to load the module that it is in.
"""

import re
from typing import TYPE_CHECKING, Any

__all__ = ["lazy_compile"]

if TYPE_CHECKING:
    from re import compile as lazy_compile
else:

    class lazy_compile:  # noqa: N801 - to whoever uses it, a function
        """A pattern, with the methods of one."""

        def __init__(self, pattern: str, flags: int = 0) -> None:
            self._pattern = pattern
            self._flags = flags

        def __getattr__(self, name: str) -> Any:
            method = getattr(re.compile(self._pattern, self._flags), name)
            setattr(self, name, method)  # from now on nothing is between
            return method
