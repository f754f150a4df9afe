from pitstop.runs.variables import preview, tell_value

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
