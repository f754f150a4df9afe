"""An event as a row's body, and back; a large value in it stands once in the table of blobs, by its hash."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, cast, get_args

import msgspec
from msgspec.msgpack import Ext

from pitstop.errors import BadLog
from pitstop.events.outcome import Outcome
from pitstop.events.types import AnyEvent, Unknown
from pitstop.store.sql.packing import BLOB, UNPACKABLE, encoder, new_decoder, packable, unpack, with_room

LARGE = 16 * 1024  # a value of more bytes leaves its row
_LOOKED_INTO_DEPTH = 4
_LOOKED_INTO_CHILDREN = 256

KINDS: dict[type, str] = {kind: kind.__struct_config__.tag for kind in get_args(AnyEvent) if kind is not Unknown}
_known = frozenset((*KINDS.values(), "unknown"))


def pack_event(event: AnyEvent) -> bytes:
    """Whatever its values are; what has no form of its own is what `as_json` makes of it."""
    try:
        return encoder.encode(event)
    except UNPACKABLE:
        return encoder.encode({"kind": type(event).__struct_config__.tag, **_packable_fields(event)})


def kind_of(event: AnyEvent) -> str:
    return event.was if isinstance(event, Unknown) else KINDS[type(event)]


def unpack_event(body: bytes, blobs: Mapping[bytes, bytes] | None = None) -> AnyEvent:
    """The event; LookupError when it has a value in a blob that is not given, BadLog when it is none at all."""
    try:
        return with_room(_decoder.decode, body)
    except (msgspec.ValidationError, LookupError):  # of a later version, or with an extension where a type is asked for
        return _unpack_untyped(body, blobs or {})
    except msgspec.DecodeError as error:
        raise BadLog(f"an event of the log is damaged: {error}") from error


def blobs_of(packed: bytes) -> set[bytes]:
    """The hashes of the blobs that the packed value has in it; they may have others in them."""
    found: set[bytes] = set()
    unpack(packed, found.add)
    return found


def without_large_values(body: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """The body of an event with its large values replaced, and these, by their hashes."""
    blobs: dict[bytes, bytes] = {}

    def shrunk(value: Any, depth: int) -> Any:
        packed = encoder.encode(value)
        if len(packed) < LARGE:
            return value
        if depth and isinstance(value, dict | list) and len(value) <= _LOOKED_INTO_CHILDREN:
            value = (
                {key: shrunk(child, depth - 1) for key, child in value.items()}
                if isinstance(value, dict)
                else [shrunk(child, depth - 1) for child in value]
            )
            packed = encoder.encode(value)
            if len(packed) < LARGE:
                return value
        name = hash_of(packed)
        blobs[name] = packed
        return Ext(BLOB, name)

    fields = with_room(msgspec.msgpack.decode, body)
    return encoder.encode({name: shrunk(value, _LOOKED_INTO_DEPTH) for name, value in fields.items()}), blobs


def hash_of(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


_decoder: "msgspec.msgpack.Decoder[AnyEvent]" = new_decoder(AnyEvent)


def _unpack_untyped(body: bytes, blobs: Mapping[bytes, bytes]) -> AnyEvent:
    def blob(name: bytes) -> Any:
        return unpack(blobs[name], blob)

    fields = unpack(body, blob)
    if fields["kind"] not in _known:
        return Unknown(float(fields.get("at", 0.0)), str(fields["kind"]))
    try:
        return cast(AnyEvent, msgspec.convert(fields, AnyEvent))
    except msgspec.ValidationError as error:
        raise BadLog(f"an event of the log is damaged: {error}") from error


def _packable_fields(struct: AnyEvent | Outcome) -> dict[str, Any]:
    return {name: _packable_field(getattr(struct, name)) for name in struct.__struct_fields__}


def _packable_field(value: Any) -> Any:
    return _packable_fields(value) if isinstance(value, Outcome) else packable(value)
