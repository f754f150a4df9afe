"""JSON that others have sent is read within limits."""

import pytest

from pitstop.errors import BadRequest
from pitstop.platform.triggers import payloads
from pitstop.platform.triggers.payloads import read_payload
from tests.amounts import amount

MOST = amount(10_000, soak=payloads.MOST_VALUES)  # values: a million take long to write


@pytest.fixture(autouse=True)
def fewer_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "MOST_VALUES", MOST)


def nested(levels: int) -> bytes:
    return b"[" * levels + b"1" + b"]" * levels


def listed(values: int) -> bytes:
    return b"[" + b"1," * (values - 1) + b"1]"


def test_json_is_read() -> None:
    assert read_payload(b'{"a": [1, -2.5, null, true, "\\u00e9"], "n": 18446744073709551615}') == {
        "a": [1, -2.5, None, True, "é"],
        "n": 2**64 - 1,
    }


def test_a_million_values_are_read_and_not_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert len(read_payload(listed(999_999))) == 999_999
    with pytest.raises(BadRequest, match="more than 1,000,000 values"):
        read_payload(listed(1_000_000))


def test_a_hundred_levels_are_read() -> None:
    assert read_payload(nested(100))


def test_separators_inside_of_texts_are_no_values() -> None:
    text = '\\"' + "a,[{" * MOST + "\\\\"

    assert read_payload(f'["{text}", "{text}"]'.encode())[0].endswith("a,[{\\")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not valid JSON"),
        (b"{'a': 1}", "not valid JSON"),
        (b'{"a": NaN}', "not valid JSON"),
        (b'{"a": 1e999}', "not valid JSON"),
        (b'"\xff"', "not valid JSON"),
        (b'"\\ud800"', "not valid JSON"),
        (b"\x00", "not valid JSON"),
        (b"1" * 5_000, "not valid JSON"),
        (b'{"a": [1, ' + b"1" * 25 + b"]}", "a whole number that does not fit into 64 bits"),
        (b"-9223372036854775809", "a whole number that does not fit into 64 bits"),
        (nested(101), "nested more than 100 levels deep"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, "nested more than 100 levels deep"),
        (b"[" * (MOST - 1), "nested more than 100 levels deep"),
        (listed(MOST), f"more than {MOST:,} values"),
        (b"[" + b'"",' * MOST + b'""]', f"more than {MOST:,} values"),
        (b"[" + b"[]," * MOST + b"[]]", f"more than {MOST:,} values"),
        (b'"' + b'\\"' * (MOST // 2) + b'",' * (MOST + 1), "not valid JSON"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[:12].decode(errors="replace"),
)
@pytest.mark.repeats
@pytest.mark.timeout(20)
def test_what_is_no_json_or_too_much_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        read_payload(body)
