"""Modules that others import at once and a short run has no use for: they are loaded when something in them is used.

To everybody they are what they would be anyway. The very same module is filled, by the first who asks for what it does
not have yet; `LazyLoader` of the standard library would fill it when it is imported a second time.

Other modules are needed, but not the regular expressions in them: those are compiled when they are first used.
"""

import re
import sys
from _thread import RLock
from importlib import import_module
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
    "copy",
    "dataclasses",
    "difflib",
    "fnmatch",
    "hashlib",
    "inspect",
    "ipaddress",
    "json",
    "linecache",
    "locale",
    "lzma",
    "msgspec.inspect",
    "msgspec.msgpack",
    "msgspec.toml",
    "msgspec.yaml",
    "shlex",
    "shutil",
    "ssl",
    "textwrap",
    "tokenize",
    "traceback",
    "yaml",
}
SELDOM_MATCHING = {  # their patterns take longer to compile than all the rest of them to load
    "gettext",
    "json.encoder",
    "json.scanner",
    "logging",
    "platform",
    "string",
    "yaml.constructor",
    "yaml.reader",
    "yaml.resolver",
}
BUILT_ON = {"bz2": "_bz2", "lzma": "_lzma", "ssl": "_ssl"}  # which a Python may be without
_UNLOADED = "_loader_of_pitstop"
_LOADING = RLock()


def load_lazily() -> None:
    """From now on, in this process."""
    sys.meta_path.insert(0, _Finder)
    if "msgspec" not in sys.modules:
        _import_msgspec()


def _import_msgspec() -> None:
    """Without `typing_extensions`, from which it would take what `typing` has since Python 3.11."""
    before = sys.modules.get("typing_extensions")
    sys.modules["typing_extensions"] = None  # type: ignore[assignment] # it cannot be imported
    try:
        import_module("msgspec")
    finally:
        del sys.modules["typing_extensions"]
    if before is not None:
        sys.modules["typing_extensions"] = before


class _Finder:
    @staticmethod
    def find_spec(name: str, path: "Sequence[str] | None", target: ModuleType | None = None) -> ModuleSpec | None:
        if name in SELDOM_MATCHING:
            new_loader: type[_LazyLoader | _LateCompiler] = _LateCompiler
        elif name in SELDOM_USED and (name not in BUILT_ON or PathFinder.find_spec(BUILT_ON[name]) is not None):
            new_loader = _LazyLoader
        else:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = new_loader(spec.loader)  # type: ignore[assignment] # it has all that is asked of one
        return spec


class _LazyLoader:
    def __init__(self, loader: "Loader") -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _UnloadedModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)[_UNLOADED] = self._loader
        _show_loader(module, self._loader)


class _UnloadedModule(ModuleType):
    def __getattr__(self, name: str) -> "Any":
        if _UNLOADED in vars(self) and PathFinder.find_spec(name, vars(self).get("__path__", ())) is not None:
            return import_module(f"{self.__name__}.{name}")  # a submodule needs only the path of its package
        with _LOADING:  # another thread waits here until all of it is there
            loader: Loader | None = vars(self).pop(_UNLOADED, None)
            if loader is not None:
                loader.exec_module(self)
                self.__class__ = ModuleType  # type: ignore[assignment]
        return ModuleType.__getattribute__(self, name)


class _LateCompiler:
    def __init__(self, loader: "Loader") -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        def compile_late(pattern: "Any", flags: int = 0) -> "Any":
            is_for_module = sys._getframe(1).f_globals is vars(module)
            return _LatePattern(pattern, flags) if is_for_module else compile_now(pattern, flags)

        _show_loader(module, self._loader)
        compile_now, re.compile = re.compile, compile_late
        try:
            self._loader.exec_module(module)
        finally:
            re.compile = compile_now


class _LatePattern:
    def __init__(self, pattern: "Any", flags: int) -> None:
        self._written = pattern, flags

    def __getattr__(self, name: str) -> "Any":
        return getattr(re.compile(*self._written), name)  # which `re` caches


def _show_loader(module: ModuleType, loader: "Loader") -> None:
    """As the one that has loaded the module."""
    module.__loader__ = loader
    if module.__spec__ is not None:
        module.__spec__.loader = loader
