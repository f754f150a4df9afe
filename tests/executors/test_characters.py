import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.executors.machine.characters import whole_characters


@pytest.mark.parametrize("text", ["", "a", "é", "€", "😀", "ab€", "a😀b"])
def test_bytes_are_whole_characters_up_to_the_last_that_is(text: str) -> None:
    data = text.encode()

    for size in range(len(data) + 1):
        whole = whole_characters(data[:size])
        assert data[:whole].decode() == data[:size].decode(errors="ignore")


@given(st.binary(max_size=20))
def test_of_bytes_that_are_no_text_at_most_three_wait(data: bytes) -> None:
    assert len(data) - 3 <= whole_characters(data) <= len(data)
