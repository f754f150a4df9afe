from typing import Any

from pitstop.runs.variable_info import Sort
from pitstop.runs.variables import Children, Sizes, page_of, preview, tell_value

SECRET = 'k"' + "s" * 100


def hide(text: str) -> str:
    return text.replace(SECRET, "***")


def test_a_preview_shows_no_part_of_a_secret_that_is_cut_or_quoted() -> None:
    for before in range(130):
        told = tell_value(("", (), {"key": "x" * before + SECRET + "tail"}), hide)
        assert "ss" not in told.preview, told.preview
        assert len(told.preview) <= 120


def test_a_preview_is_one_line_of_json() -> None:
    assert preview({"a": [1, "two\n"]}) == '{"a": [1, "two\\n"]}'
    assert preview("x" * 1000).endswith("x…")
    assert len(preview(["x" * 1000] * 1000)) == 120


def sorted_names(value: Any, sort: Sort, **more: Any) -> list[tuple[str, int | None]]:
    given = {"cursor": 0, "limit": 10, "search": None, "origins": {}, **more}
    page = page_of(Children(value, ()), hide, sort=sort, **given)
    return [(each.name, each.bytes) for each in page.variables]


def test_variables_have_their_size_as_json_and_are_sorted_by_it() -> None:
    value = {"b": [1, 2], "a": "xyz", "c": {"deep": "x" * 100}, "d": {1, 2}}

    assert sorted_names(value, "order") == [("b", 5), ("a", 5), ("c", 111), ("d", 5)]
    assert [name for name, _ in sorted_names(value, "name")] == ["a", "b", "c", "d"]
    assert [name for name, _ in sorted_names(value, "bytes", limit=2)] == ["c", "b"]
    assert sorted_names([10, "x" * 9, 1], "bytes") == [("1", 11), ("0", 2), ("2", 1)]


def test_a_size_is_computed_once_until_something_changes() -> None:
    sizes, value = Sizes(), ["x"]

    assert sizes.at(1).of(value) == 5
    value.append("y")
    assert (sizes.at(1).of(value), sizes.at(2).of(value)) == (5, 9)


def test_what_is_not_json_has_the_size_that_it_is_shown_with() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)

    assert Sizes().of(cycle) == len('["<cycle>"]')
    assert Sizes().of(object()) > 0
