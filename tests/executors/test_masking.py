import base64
import json
import shlex
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.executors.masking import MaskedStream, Masker

TOKEN = "tok/en+with ~Ümlaut"


def masked(masker: Masker, *parts: bytes) -> bytes:
    stream = MaskedStream(masker)
    return b"".join(stream.feed(part) for part in parts) + stream.finish()


def test_a_secret_is_replaced_wherever_it_stands() -> None:
    masker = Masker({"PASSWORD": "hunter2"})

    assert masked(masker, b"hunter2 a hunter2hunter2 b\n") == b"*** a ****** b\n"


@pytest.mark.parametrize(
    "encoded",
    [
        TOKEN.encode(),
        quote(TOKEN).encode(),
        quote(TOKEN, safe="").encode(),
        quote_plus(TOKEN).encode(),
        json.dumps(TOKEN)[1:-1].encode(),
        base64.b64encode(TOKEN.encode()),
        base64.urlsafe_b64encode(TOKEN.encode()),
        TOKEN.encode().hex().encode(),
        TOKEN.encode().hex().upper().encode(),
        TOKEN.replace(" ", r"\ ").replace("~", r"\~").encode(),
    ],
)
def test_a_secret_is_recognised_in_the_forms_that_programs_give_it(encoded: bytes) -> None:
    assert masked(Masker({"TOKEN": TOKEN}), b"<" + encoded + b">") == b"<***>"


@pytest.mark.parametrize("before", ["", "u", "us", "use", "user:"])
def test_of_a_secret_inside_a_longer_text_in_base64_no_whole_byte_is_shown(before: str) -> None:
    header = base64.b64encode(f"{before}hunter2-and-more:after".encode()).decode()

    shown = masked(Masker({"PASSWORD": "hunter2-and-more"}), header.encode()).decode()

    begin, _, end = shown.partition("***")
    assert header.startswith(begin)
    assert header.endswith(end)
    bits_shown = 6 * len(begin) - 8 * len(before), 6 * len(end.rstrip("=")) - 8 * len(":after")
    assert max(bits_shown) < 8


def test_each_line_of_a_secret_is_one() -> None:
    masker = Masker({"KEY": "-----BEGIN-----\nMIIEabc\n  MIIEdef\n-----END-----\n"})

    assert masked(masker, b"a MIIEdef\nMIIEabc b") == b"a ***\n*** b"


def test_a_secret_that_is_too_short_is_not_masked() -> None:
    masker = Masker({"PIN": "123", "PASSWORD": "hunter2", "EMPTY": ""})

    assert masked(masker, b"123 hunter2") == b"123 ***"


def test_of_two_secrets_that_begin_alike_the_longer_one_leaves_no_tail() -> None:
    masker = Masker({"A": "abcd", "B": "abcdefgh"})

    assert masked(masker, b"abcd", b"efgh abcd", b".") == b"*** ***."


def test_nothing_is_held_back_but_what_may_be_the_beginning_of_a_secret() -> None:
    stream = MaskedStream(Masker({"PASSWORD": "hunter2"}))

    assert stream.feed(b"Continue? [y/N] ") == b"Continue? [y/N] "
    assert stream.feed(b"the hunt") == b"the "
    assert stream.feed(b" is on") == b"hunt is on"
    assert stream.feed(b"hunter2") == b"***"


def test_errors_and_events_are_masked_as_text() -> None:
    assert Masker({"TOKEN": TOKEN}).mask_text(f"cannot log in with {TOKEN!s}: ü") == "cannot log in with ***: ü"


def test_without_secrets_nothing_is_changed_or_held() -> None:
    assert MaskedStream(Masker({})).feed(b"anything") == b"anything"


@given(
    st.lists(st.text("abc", min_size=4, max_size=7), max_size=3),
    st.lists(st.binary(max_size=6) | st.text("abc", max_size=6).map(str.encode), max_size=8),
)
def test_how_the_bytes_are_cut_makes_no_difference(secrets: list[str], parts: list[bytes]) -> None:
    masker = Masker({str(number): secret for number, secret in enumerate(secrets)})

    shown = masked(masker, *parts)

    assert not any(secret.encode() in shown for secret in secrets)
    assert shown.replace(b"***", b"") == masked(masker, b"".join(parts)).replace(b"***", b"")


QUOTED = 'it\'s 50% "off"'


@pytest.mark.parametrize(
    "quoted",
    [
        shlex.quote(QUOTED)[1:-1],
        QUOTED.replace("'", r"'\''"),
        r"it\'s\ 50%\ \"off\"",
        quote(QUOTED).lower(),
        json.dumps(QUOTED)[1:-1],
    ],
)
def test_a_secret_is_recognised_as_shells_and_addresses_quote_it(quoted: str) -> None:
    assert masked(Masker({"QUOTED": QUOTED}), b"<" + quoted.encode() + b">") == b"<***>"


LONG = "correct-horse-battery-staple-" * 4


@pytest.mark.parametrize("end_of_line", [b"\n", b"\r\n"])
@pytest.mark.parametrize("before", ["", "user:", "a longer text that is before it: "])
@pytest.mark.parametrize(("encode", "width"), [(bytes.hex, 60), (lambda raw: base64.b64encode(raw).decode(), 76)])
def test_a_secret_is_recognised_in_an_encoded_text_that_is_wrapped(
    encode: Callable[[bytes], str], width: int, before: str, end_of_line: bytes
) -> None:
    text = encode(f"{before}{LONG}, and after".encode()).encode()
    wrapped = end_of_line.join(text[i : i + width] for i in range(0, len(text), width)) + end_of_line
    masker = Masker({"LONG": LONG})
    whole = masked(masker, b"$ xxd -p\n" + wrapped + b"$ ")

    shown = whole.removeprefix(b"$ xxd -p\n").replace(end_of_line, b"")
    begin, _, end = shown.partition(b"***")
    assert text.startswith(begin)
    assert text.endswith(end.removesuffix(b"$ "))
    assert len(shown) < len(text) - len(LONG)
    for cut in range(len(wrapped)):
        assert masked(masker, b"$ xxd -p\n" + wrapped[:cut], wrapped[cut:] + b"$ ") == whole
    assert masked(masker, *(bytes((byte,)) for byte in b"$ xxd -p\n" + wrapped + b"$ ")) == whole


def test_lines_of_usual_length_are_not_held_back_though_one_ends_as_a_secret_begins() -> None:
    stream = MaskedStream(Masker({"PASSWORD": "hunter2"}))

    assert stream.feed(b"catch\n") == b"catch\n"
    assert stream.feed(b"the length of the ruler is " + b"=" * 80 + b"6\n").endswith(b"6\n")
