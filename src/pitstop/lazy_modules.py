"""Modules that others import at once and a short run has no use for: they are loaded when something in them is used.

To everybody they are what they would be anyway. The very same module is filled, by the first who asks for what it does
not have yet; `LazyLoader` of the standard library would fill it when it is imported a second time.
"""

import sys
from _thread import RLock
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

TYPE_CHECKING = False  # that of `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from typing import Any

SELDOM_USED = {
    "asyncio.sslproto",
    "asyncio.staggered",
    "base64",
    "bz2",
    "dataclasses",
    "difflib",
    "hashlib",
    "ipaddress",
    "lzma",
    "msgspec.inspect",
    "msgspec.msgpack",
    "msgspec.toml",
    "msgspec.yaml",
    "shlex",
    "ssl",
    "textwrap",
    "tokenize",
}
BUILT_ON = {"bz2": "_bz2", "lzma": "_lzma", "ssl": "_ssl"}  # which a Python may be without
_UNLOADED = "_loader_of_pitstop"
_LOADING = RLock()


def load_lazily() -> None:
    """From now on, in this process."""
    sys.meta_path.insert(0, _Finder)


class _Finder:
    @staticmethod
    def find_spec(name: str, path: "Sequence[str] | None", target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in SELDOM_USED or (name in BUILT_ON and PathFinder.find_spec(BUILT_ON[name]) is None):
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _LazyLoader(spec.loader)  # type: ignore[assignment] # it has all that is asked of one
        return spec


class _LazyLoader:
    def __init__(self, loader: "Loader") -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _UnloadedModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update({"__loader__": self._loader, _UNLOADED: self._loader})
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader


class _UnloadedModule(ModuleType):
    def __getattr__(self, name: str) -> "Any":
        with _LOADING:  # another thread waits here until all of it is there
            loader: Loader | None = vars(self).pop(_UNLOADED, None)
            if loader is not None:
                loader.exec_module(self)
                self.__class__ = ModuleType  # type: ignore[assignment]
        return ModuleType.__getattribute__(self, name)
