import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.steps.failures import BadOutput
from pitstop.steps.script_outputs import RESERVED, parse_outputs


@pytest.mark.parametrize(
    ("text", "outputs"),
    [
        ("", {}),
        ("\n \n", {}),
        ("a=1\nb=two words\n", {"a": "1", "b": "two words"}),
        ("a=x=y\n", {"a": "x=y"}),
        ("a=\n", {"a": ""}),
        ("a=1\r\nb=2\r\n", {"a": "1", "b": "2"}),
        ("a=shift<<2\n", {"a": "shift<<2"}),
        ("a=first\na=last\n", {"a": "last"}),
        ("a<<EOF\n1\n\nb=2\nEOF\nc=3", {"a": "1\n\nb=2", "c": "3"}),
        ("a<<EOF\nEOF\n", {"a": ""}),
        ('{"a": 1, "b": [true, null]}', {"a": 1, "b": [True, None]}),
        ('\n{"a":\n {}}\n', {"a": {}}),
    ],
)
def test_lines_blocks_and_json_are_understood(text: str, outputs: dict[str, object]) -> None:
    assert parse_outputs(text) == outputs


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a=1\nnonsense\n", "line 2 is 'nonsense', but key=value or key<<END is expected"),
        ("=1", "line 1"),
        ("a b=1", "line 1"),
        ("a<<EOF\n1\n2", "the block that starts at line 1 has no closing line 'EOF'"),
        ("a<<\n1\n", "has no closing line ''"),
        ('{"a": 1', "invalid JSON object"),
        ('{"a": NaN}', "invalid JSON object"),
        ("{" * 100_000, "invalid JSON object"),
        ('{"a":' + "[" * 100_000, "invalid JSON object"),
        ("exit_code=0", "'exit_code' is reserved by Pitstop"),
        ('{"tests": 1}', "'tests' is reserved by Pitstop"),
    ],
)
def test_what_cannot_be_understood_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(BadOutput) as refused:
        parse_outputs(text)

    assert told in str(refused.value)
    assert len(str(refused.value)) < 300


@given(st.text())
def test_no_text_makes_the_reader_fail_in_another_way(text: str) -> None:
    with contextlib.suppress(BadOutput):
        parse_outputs(text)


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,20}", fullmatch=True).filter(lambda name: name not in RESERVED)
lines = st.text(st.characters(exclude_characters="\r\n", codec="utf-8"))


@given(st.dictionaries(names, st.lists(lines, min_size=1).map("\n".join)))
def test_any_values_can_be_handed_on_in_blocks(values: dict[str, str]) -> None:
    text = "".join(f"{name}<<--END--\n{value}\n--END--\n" for name, value in values.items())

    assert parse_outputs(text) == values
