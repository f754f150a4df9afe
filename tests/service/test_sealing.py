"""Secrets at rest."""

from pathlib import Path

import pytest

from pitstop.errors import SealBroken
from pitstop.service.sealing import read_seal


def test_what_was_sealed_is_opened_with_the_key_file_and_is_not_in_the_bytes(tmp_path: Path) -> None:
    sealed = read_seal(tmp_path / "new" / "key").close({"TOKEN": "s3cret-value"})

    assert b"s3cret-value" not in sealed
    assert b"TOKEN" not in sealed
    assert read_seal(tmp_path / "new" / "key").open(sealed) == {"TOKEN": "s3cret-value"}


def test_the_key_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    read_seal(tmp_path / "key")

    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_another_key_does_not_open_it(tmp_path: Path) -> None:
    sealed = read_seal(tmp_path / "one").close({"TOKEN": "x"})

    with pytest.raises(SealBroken, match="another key"):
        read_seal(tmp_path / "two").open(sealed)


def test_a_file_that_holds_no_key_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("not a key")

    with pytest.raises(SealBroken, match="does not contain a key"):
        read_seal(tmp_path / "key")
    assert (tmp_path / "key").read_text() == "not a key"
