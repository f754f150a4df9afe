"""Cuts values that are too large to send down to size, and says where."""

from typing import Any

from pitstop.doors.http.answers import encode

SHOWN_CHARACTERS = 1000
SHOWN_CHILDREN = 100


def cut_to_size(value: Any, most_bytes: int) -> tuple[Any, tuple[str, ...]]:
    """The value, and the jq paths of what was cut in it: long texts end in `…`, long lists and objects have a part."""
    if len(encode(value)) <= most_bytes:
        return value, ()
    cut: list[str] = []
    return _cut(value, most_bytes, "", cut), tuple(cut)


def _cut(value: Any, most_bytes: int, path: str, cut: list[str]) -> Any:
    """Each child may have its even share; what is small in a large value stays as it is."""
    if len(encode(value)) <= most_bytes:
        return value
    match value:
        case str():
            cut.append(path or ".")
            return value[: min(SHOWN_CHARACTERS, max(0, most_bytes // 8))] + "…"
        case dict() | list() if most_bytes < 64:
            cut.append(path or ".")
            return type(value)()
        case dict():
            names = list(value)[: max(SHOWN_CHILDREN, most_bytes // 64)]
            if len(names) < len(value):
                cut.append(path or ".")
            share = most_bytes // (len(names) + 1)
            return {name: _cut(value[name], share, f"{path}{_key(name)}", cut) for name in names}
        case list():
            children = value[: max(SHOWN_CHILDREN, most_bytes // 64)]
            if len(children) < len(value):
                cut.append(path or ".")
            share = most_bytes // (len(children) + 1)
            return [_cut(child, share, f"{path}[{index}]", cut) for index, child in enumerate(children)]
    return value


def _key(name: Any) -> str:
    text = str(name)
    return f".{text}" if text.isidentifier() and text.isascii() else f"[{encode(text).decode()}]"
