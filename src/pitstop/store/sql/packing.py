"""Any value as bytes, and back: what comes out is what went in, except that tuples and sets are lists then.

MessagePack, with four extensions: large values that stand elsewhere, whole numbers and texts that it has no room for,
and values that are too deep for it, or inside themselves.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec
from msgspec.msgpack import Ext

from pitstop.plan.values import as_json

T = TypeVar("T")

BLOB, FLAT, WHOLE_NUMBER, TEXT = 1, 2, 3, 4  # the extensions; never renumbered
_LEAF, _LIST, _MAP = 0, 1, 2

UNPACKABLE = (TypeError, ValueError, OverflowError, RecursionError)  # a UnicodeError is a ValueError

encoder = msgspec.msgpack.Encoder(enc_hook=as_json)


def pack(value: Any) -> bytes:
    try:
        return encoder.encode(value)
    except UNPACKABLE:
        return encoder.encode(_flatten(value))


def packable(value: Any) -> Any:
    """The value itself if the encoder takes it, or a flat form of it, which it always takes."""
    try:
        encoder.encode(value)
    except UNPACKABLE:
        return _flatten(value)
    return value


def unpack(packed: bytes, blob: Callable[[bytes], Any] | None = None) -> Any:
    """The value; `blob` gives those that stand elsewhere, by their hash."""
    return with_room(new_decoder(Any, blob).decode, packed)


def new_decoder(type: Any, blob: Callable[[bytes], Any] | None = None) -> "msgspec.msgpack.Decoder[Any]":
    """A decoder that knows the extensions; LookupError for a value that stands elsewhere and not in `blob`."""

    def extension(code: int, data: memoryview) -> Any:
        if code == BLOB and blob is not None:
            return blob(bytes(data))
        if code == FLAT:
            return _unflatten(plain.decode(data))
        if code == WHOLE_NUMBER:
            return int.from_bytes(data, "big", signed=True)
        if code == TEXT:
            return bytes(data).decode("utf-8", "surrogatepass")
        raise LookupError(f"no value can be made of extension {code}")

    plain = msgspec.msgpack.Decoder(ext_hook=extension)
    return plain if type is Any else msgspec.msgpack.Decoder(type, ext_hook=extension)


def with_room(decode: Callable[[bytes], T], packed: bytes) -> T:
    """Decode on a stack of its own if this one is too full: a value may be as deep as it was when it was packed."""
    try:
        return decode(packed)
    except RecursionError:
        with ThreadPoolExecutor(1) as room:
            return room.submit(decode, packed).result()


def _flatten(value: Any) -> Ext:
    """A value as a list of nodes, whose containers name their children by their place in it."""
    values: list[Any] = [value]
    places: dict[int, int] = {id(value): 0}  # `values` keeps them alive, so an id stays theirs

    def place(child: Any) -> int:
        if id(child) not in places:
            places[id(child)] = len(values)
            values.append(child)
        return places[id(child)]

    nodes: list[tuple[int, Any]] = []
    for each in values:  # it grows meanwhile
        if type(each) is dict:
            nodes.append((_MAP, [place(part) for pair in each.items() for part in pair]))
        elif type(each) is list or type(each) is tuple:
            nodes.append((_LIST, [place(child) for child in each]))
        else:
            nodes.append((_LEAF, _leaf(each)))
    return Ext(FLAT, encoder.encode(nodes))


def _leaf(value: Any) -> Any:
    if type(value) is int and not -(2**63) <= value < 2**64:
        return Ext(WHOLE_NUMBER, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    if type(value) is str and not value.isascii():
        return Ext(TEXT, value.encode("utf-8", "surrogatepass"))
    try:
        encoder.encode(value)
    except UNPACKABLE:
        return as_json(value)
    return value


def _unflatten(nodes: list[tuple[int, Any]]) -> Any:
    made: list[Any] = [{} if kind == _MAP else [] if kind == _LIST else content for kind, content in nodes]
    for own, (kind, content) in zip(made, nodes, strict=True):
        if kind == _LIST:
            own += [made[child] for child in content]
    for own, (kind, content) in zip(made, nodes, strict=True):  # after all lists, for a tuple may be a key
        if kind == _MAP:
            for key, child in zip(content[::2], content[1::2], strict=True):
                own[_as_key(made[key])] = made[child]
    return made[0]


def _as_key(value: Any) -> Any:
    return tuple(map(_as_key, value)) if type(value) is list else value
