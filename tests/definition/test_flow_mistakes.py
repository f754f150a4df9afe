"""What a bad flow file is answered with: every mistake at once, each at its place."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pitstop.definition.mistakes import MOST_MISTAKES
from pitstop.definition.yaml_reader import read_flow
from pitstop.errors import BadDefinition, BadFlow
from pitstop.limits import too_many_values
from pitstop.plan.expressions import parse_template
from tests.definition.flow_types import STEP_TYPES, mistakes_in, only_mistake, read

BAD_SECRET = "`secrets.1`: a secret name has at most 200 letters, digits and `_`, and does not start with a digit"
TWELVE_MISTAKES = """\
nmae: twelve
timeout: soon
steps:
  - id: build
    rnu: make
  - id: build
    run: make
    retry: {times: often}
  - run: make
    wait: {port: 80}
  - name: nothing
  - run: make
    continue_on_error: yes
    workspace: clean
  - http: {ulr: "http://localhost"}
  - if: ${{ .a }} and .b
    run: echo ${{ .c
"""


def test_a_file_with_twelve_mistakes_is_answered_with_twelve() -> None:
    places = [(mistake.line, mistake.column) for mistake in mistakes_in(TWELVE_MISTAKES)]
    assert places == [
        (1, 1), (2, 10), (5, 5), (6, 9), (8, 20), (10, 5), (11, 5), (13, 24), (14, 16), (15, 12), (16, 9), (17, 15),
    ]  # fmt: skip


def test_a_mistake_looks_like_that_of_a_compiler() -> None:
    with pytest.raises(BadDefinition) as caught:
        read("steps:\n  - rnu: make\n")
    assert str(caught.value) == (
        "flow.yaml:2:5: unknown step type `rnu`\n"
        "    - rnu: make\n"
        "      ^ did you mean `run`?"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("step", "column", "message", "hint"),
    [
        ("{run: x, shel: sh}", 10, "`run` has no key `shel`", "did you mean `shell`?"),
        ("{run: x, tiemout: 5s}", 10, "`run` has no key `tiemout`", "did you mean `timeout`?"),
        ("{run: 5}", 7, "`run` must be text, not `5`", "put it in quotes"),
        ("{run: [x]}", 7, "`run` must be text, not a list", None),
        ("{run: x, timeout: soon}", 19, "`timeout`: a duration must look like `30m`, `1h30m` or `500ms`", None),
        ("{run: x, secrets: KEY}", 19, "`secrets`: must be a list of names", "did you mean `[KEY]`?"),
        ("{run: x, secrets: {KEY: 1}}", 19, "`secrets`: must be a list of names", "such as `[DEPLOY_KEY]`"),
        ("{run: x, secrets: [A, 7]}", 23, "`secrets.2` must be text, not `7`", "put it in quotes"),
        ("{run: x, secrets: [A-KEY]}", 20, BAD_SECRET, "did you mean `A_KEY`?"),
        ("{group: g, secrets: [1KEY], steps: [{run: x}]}", 22, BAD_SECRET, "did you mean `_1KEY`?"),
        ("{run: x, secrets: ['${{ .a }}']}", 20, BAD_SECRET, None),
        ("{run: x, retry: 3}", 17, "`retry` must be a mapping, not `3`", None),
        ("{run: x, retry: {}}", 17, "`retry` needs `times`", None),
        ("{run: x, retry: {times: 0}}", 25, "`retry.times`: must be at least 1", None),
        ("{run: x, retry: {times: 1, dely: 2s}}", 28, "unknown key `retry.dely`", "did you mean `delay`?"),
        ("{run: x, on_interrupt: pauze}", 24, "`on_interrupt`", "did you mean `pause`?"),
        ("{run: x, on_failure: nxt}", 22, "`on_failure`: must be `next`", "did you mean `next`?"),
        ("{run: x, on_success: merge}", 22, "`on_success`: `merge` needs the name of a branch", None),
        ("{run: x, on_failure: 'merge:main'}", 22, "`on_failure`: `merge:main` is possible only", None),
        ("{run: x, on_failure: 'card:'}", 22, "`on_failure`: `card` needs a title", None),
        ("{run: x, on_success: fix}", 22, "`on_success`: `fix` is possible only for `on_failure`", None),
        ("{run: x, fix: {iterations: 11}}", 28, "`fix.iterations`: must be at most 10", None),
        ("{run: x, fix: {agents: codex}}", 16, "unknown key `fix.agents`", "did you mean `agent`?"),
        ("{run: x, id: two words}", 14, "`id`: an id consists of letters, digits", None),
        ("{run: x, id: 2}", 14, "`id` must be text, not `2`", "put it in quotes"),
        ("{run: x, env: [A]}", 15, "`env` must be a mapping, not a list", None),
        ("{run: x, env: {A: [1]}}", 19, "`A` must be text", None),
        ("{run: x, env: {A=B: 1}}", 16, "a variable name must not be empty or contain `=`", None),
        ("{http: x, retries: 10}", 20, "`retries`: must be at most 9", None),
        ("{http: x, expect: {satus: 1}}", 20, "unknown key `expect.satus`", "did you mean `status`?"),
        ("{http: x, codes: none}", 18, "`codes` must be a list or a whole number, not `none`", None),
        ("{http: x, codes: [a, 2]}", 19, "`codes.1` must be a whole number, not `a`", None),
        ("{http: {}}", 2, "`http` needs `url`", None),
        ("{http: {url: x}, url: y}", 18, "duplicate key `url`: first at 1:17", None),
        ("{wait: 8080}", 8, "`wait` must be a mapping with `file` or `port`", None),
        ("{agent: writer}", 2, "`agent` needs `prompt`", None),
        ("{uses: agnet, with: {}}", 8, "unknown step type `agnet`", "did you mean `agent`?"),
        ("{uses: run, script: x}", 13, "`script` belongs in `with`", None),
        ("{uses: run, with: x}", 19, "`with` must be a mapping", None),
        ("{uses: run, with: {scrpt: x}}", 20, "`run` has no key `scrpt`", "did you mean `script`?"),
        ("{uses: run, with: {script: x}, wait: {}}", 2, "a step has one type", None),
        ("{frobnicate: x, id: a}", 2, "unknown step type `frobnicate`", None),
        ("{id: a}", 1, "the step does nothing: it needs one of `run`, `http`", None),
        ("{parallel: []}", 12, "`parallel` is empty", None),
        ("{parallel: [{run: x}], succeed: some}", 33, "`succeed` must be `all` or `any` or a whole number", None),
        ("{matrix: {a: []}, steps: [{run: x}]}", 14, "`matrix.a`: needs at least 1", None),
        ("{matrix: {a: [1]}}", 2, "`matrix` needs `steps`", None),
        ("{repeat: {every: 2s}, steps: [{run: x}]}", 2, "`repeat`: needs `until` or `times`", None),
        ("{repeat: {until: '.a == \"'}, steps: [{run: x}]}", 18, "invalid jq expression: unterminated string", None),
        ("{choose: [{run: x}, {if: .a, run: y}]}", 11, "a step without `if` is the else", None),
        ("{call: '${{ .file }}'}", 8, "the path of a called flow cannot be an expression", None),
        ("{run: x, if: '${{ .a }} == 1'}", 14, "a condition is a single expression", None),
        ("{run: x, if: ''}", 14, "a condition cannot be empty", None),
        ("{run: x, if: '.a }'}", 14, "invalid jq expression: unbalanced `{` or `}`", None),
        ("{run: x, if: '.a }} ${{ .b'}", 21, "invalid template: the ${{ has no closing }}", None),
        ("{run: x, if: '{a: 1}} | .a'}", 14, "invalid jq expression: unbalanced `{` or `}`", None),
        ("{run: x, if: '${{ .a'}", 15, "invalid template: the ${{ has no closing }}", None),
        ("{run: x, if: [a]}", 14, "`if` must be text, not a list", None),
        ("{run: 'a ${{ .b }} c ${{ }} d'}", 22, "invalid template: empty ${{ }}", None),
        ("{run: !!binary x}", 7, "unknown tag `!!binary`", "remove the tag"),
        ("make", 1, "a step must be a mapping", "did you mean `run: make`?"),
    ],
)  # fmt: skip
def test_what_can_be_wrong_with_a_step(step: str, column: int, message: str, hint: str | None) -> None:
    mistake = only_mistake(f"steps: [{step}]")
    assert mistake.message.startswith(message)
    assert (mistake.line, mistake.column, mistake.hint) == (1, len("steps: [") + column, hint)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("name: x", (1, 1), "`flow` needs `steps`"),
        ("stpes: [{run: x}]", (1, 1), "a flow has no key `stpes`"),
        ("steps: {run: x}", (1, 8), "expected a list of steps"),
        ("steps: []", (1, 8), "`steps` is empty"),
        ("- run: x", (1, 1), "a flow must be a mapping with `steps:`"),
        ("steps: [{run: x}]\ninputs: {a: {type: int}}", (2, 20), "`inputs.a.type` must be `string`, `number`"),
        ("steps: [{run: x}]\ninputs: {a: {type: number, default: x}}", (2, 13), "`inputs.a`: has a default"),
        ("steps: [{run: x}]\nvars: {a: '${{ .inputs.b }}'}", (2, 11), "expressions are not evaluated here"),
        ("steps: [{run: x}]\non: {psuh: {}}", (2, 6), "unknown key `on.psuh`"),
        ("steps: [{run: x}]\non: {schedule: {}}", (2, 16), "`on.schedule` needs `cron`"),
        (
            "steps:\n  - {id: a, run: x}\n  - {id: a, run: y}",
            (3, 10),
            "the id `a` is already used by the step at flow.yaml:2:10",
        ),
        ("steps:\n  - {id: a, run: x}\ncleanup: [{id: a, run: y}]", (3, 16), "the id `a` is already used by the step"),
        ("steps:\n  - run: x\n    run: y", (3, 5), "duplicate key `run`: first at 2:5"),
        ("steps: [{run: x, env: {A: 1, A: 2}}]", (1, 30), "duplicate key `A`: first at 1:24"),
        ("steps: [{run: x}]\n? [a]\n: b", (2, 3), "a key must be text"),
        ("steps: [{<<: 5, run: x}]", (1, 14), "`<<` merges mappings"),
        ("steps:\n  - run: |\n      a\n      b ${{ .c", (4, 9), "invalid template: the ${{ has no closing }}"),
    ],
)
def test_what_can_be_wrong_with_a_flow(text: str, place: tuple[int, int], message: str) -> None:
    mistake = only_mistake(text)
    assert mistake.message.startswith(message)
    assert (mistake.line, mistake.column) == place


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", (1, 1), "the file is empty"),
        ("# nothing but this\n", (1, 1), "the file is empty"),
        (b"name: x\nsteps: \xff", (2, 8), "the byte 0xff is not UTF-8"),
        ("steps:\n\t- run: x", (2, 1), "YAML cannot be indented with tabs"),
        ("steps: [{run: x}]\n---\nsteps: []", (2, 1), "a file holds one flow, but another document starts here"),
        ("steps: [{run: x}", (1, 17), "invalid YAML: did not find expected"),
        ("steps:\n  - run: a: b", (2, 11), "invalid YAML: mapping values are not allowed"),
        ("steps: [*nowhere]", (1, 9), "invalid YAML: found undefined alias"),
        ("steps: [{run: '\a'}]", (1, 16), "the character U+0007 is not allowed in YAML"),
        ("steps: [{run: '\ud800'}]", (1, 16), "the character U+D800 is not allowed in YAML"),
        ("steps: " + "[" * 10_000 + "]" * 10_000, (1, 106), "nested more than 100 levels deep"),
        ("- " * 500_000, (1, 199), "nested more than 100 levels deep"),
        ("steps:\n" + "  - run: x\n" * 400_000, (1, 1), "the flow is too large, 4.2 MB (limit: 4 MB)"),
        ("steps: &a [*a]", (1, 8), "recursive alias: the anchor contains itself"),
        ("vars: {n: " + "9" * 5_000 + "}\nsteps: [{run: x}]", (1, 11), "the number is too long (5,000 digits"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str | bytes) else None,
)
def test_what_is_no_yaml_that_can_be_read(text: str | bytes, place: tuple[int, int], message: str) -> None:
    mistake = only_mistake(text)
    assert mistake.message.startswith(message)
    assert (mistake.line, mistake.column) == place


def test_aliases_of_aliases_of_aliases_are_counted_and_not_made() -> None:
    laughs = "x-0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]\n" + "".join(
        f"x-{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12)
    )
    assert only_mistake(laughs + "steps: [{run: x}]").message == too_many_values(100_000)


def test_a_chain_of_aliases_is_as_deep_as_what_it_stands_for() -> None:
    chain = "x-0: &a0 [x]\n" + "".join(f"x-{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 3_000))
    assert only_mistake(chain + "steps: [{run: x}]").message == "nested more than 100 levels deep"


def test_a_mistake_that_an_alias_repeats_is_told_once() -> None:
    assert len(mistakes_in("steps:\n  - &a {rnu: x}\n  - *a\n  - *a\n")) == 1


def test_nobody_reads_a_million_mistakes() -> None:
    found = mistakes_in("steps:\n" + "  - rnu: x\n" * 5_000)
    assert len(found) == MOST_MISTAKES + 1
    assert "the rest of the file was not checked" in found[-1].message


def test_a_long_line_is_shown_around_the_mistake() -> None:
    _, line, caret = str(only_mistake(f"steps: [{{run: {'x' * 5_000}, shel: {'y' * 5_000}}}]")).splitlines()
    assert len(line) < 200
    assert line[caret.index("^") :].startswith("shel")


# --- Files that are included -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "place", "message"),
    [
        ({}, "flow.yaml:1:19", "cannot read the file `a.yaml`: No such file or directory"),
        ({"a.yaml": b"- run: \xff"}, "a.yaml:1:8", "the byte 0xff is not UTF-8"),
        ({"a.yaml": "- rnu: x"}, "a.yaml:1:3", "unknown step type `rnu`"),
        ({"a.yaml": "name: x\nsteps: []"}, "a.yaml:1:1", "`name` is not allowed in an included file"),
        ({"a.yaml": "{}"}, "a.yaml:1:1", "an included file must have `steps:`"),
        (
            {"a.yaml": "- include: flow.yaml"},
            "a.yaml:1:12",
            "the file includes itself: flow.yaml -> a.yaml -> flow.yaml",
        ),
        ({"a.yaml": "- include: ./b.yaml", "b.yaml": "- include: a.yaml"}, "b.yaml:1:12", "the file includes itself"),
    ],
)
def test_what_can_be_wrong_with_an_included_file(files: dict[str, str], place: str, message: str) -> None:
    mistake = only_mistake("steps: [{include: a.yaml}]", files)
    assert mistake.message.startswith(message)
    assert f"{mistake.file}:{mistake.line}:{mistake.column}" == place


def test_an_include_has_nothing_beside_it() -> None:
    mistake = only_mistake("steps: [{include: a.yaml, if: .a}]", {"a.yaml": "- run: x"})
    assert mistake.message.startswith("`if` cannot be combined with `include`")


def test_ids_are_those_of_all_files_together() -> None:
    mistake = only_mistake("steps: [{id: a, run: x}, {include: a.yaml}]", {"a.yaml": "- {id: a, run: y}"})
    assert str(mistake).startswith("a.yaml:1:8: the id `a` is already used by the step at flow.yaml:1:14")


def test_files_that_include_each_other_twice_are_counted() -> None:
    files = {f"{n}.yaml": f"[{{include: {n + 1}.yaml}}, {{include: {n + 1}.yaml}}]" for n in range(40)}
    found = mistakes_in("steps: [{include: 0.yaml}]", {**files, "40.yaml": "- run: x"})
    assert [mistake.message.partition(":")[0] for mistake in found] == [
        "the flow, with those that it calls, has at least 10,001 steps, but at most 10,000 are allowed"
    ]


def test_files_that_include_each_other_without_end_end() -> None:
    files = {f"{n}.yaml": f"- group: [{{include: {n + 1}.yaml}}]" for n in range(1_000)}
    assert only_mistake("steps: [{include: 0.yaml}]", files).message == "steps are nested more than 50 levels deep"


# --- jq, and anything at all -----------------------------------------------------------------------------------------


def test_whoever_knows_jq_is_asked_about_each_expression_once() -> None:
    asked: list[str] = []

    def check(expression: str) -> str | None:
        asked.append(expression)
        return "syntax error" if "+ +" in expression else None

    text = "steps:\n  - {if: .a, run: 'x ${{ .a }} y ${{ 1 + + 2 }}'}\n  - {if: '${{ 1 + + 2 }}', run: x}\n"
    with pytest.raises(BadFlow) as caught:
        read_flow(text, "f", STEP_TYPES, read_file=_no_file, parse_template=parse_template, check_expression=check)
    assert sorted(asked) == [".a", "1 + + 2"]
    assert [(each.line, each.column) for each in caught.value.found] == [(2, 34), (3, 11)]
    assert caught.value.found[0].message == "invalid jq expression `1 + + 2`: syntax error"


keys = st.sampled_from(["steps", "run", "id", "if", "env", "parallel", "matrix", "repeat", "uses", "with", "include"])
values = st.sampled_from(
    ["${{ .a }}", "${{", "}}", "true", "5", "2s", "x", "é", "'", '"', "|", ">", "\t", "&a", "*a", "!x"]
)
marks = st.sampled_from(
    [": ", "<<: ", "\n", "\n  ", "\n  - ", "\n    ", "- ", "{", "}", "[", "]", ", ", "? ", "#", "---\n", "%"]
)


@given(
    st.text()
    | st.binary()
    | st.lists(keys | values | marks, max_size=40).map(lambda parts: "steps:\n  - " + "".join(parts))
)
@example("{[]: x}")
@example("steps: [{run: x, <<: [{<<: 5}]}]")
def test_whatever_is_in_a_file_the_answer_is_a_flow_or_its_mistakes(text: str | bytes) -> None:
    for mistake in mistakes_in(text):
        assert mistake.line >= 1
        assert mistake.column >= 1
        assert str(mistake).startswith("flow.yaml:")


def _no_file(path: str) -> str:
    raise FileNotFoundError(path)


def test_a_list_of_secrets_has_a_limit() -> None:
    names = ", ".join(f"KEY_{number}" for number in range(101))
    assert read(f"secrets: [{names.rpartition(', ')[0]}]\nsteps: [{{run: x}}]").secrets[-1] == "KEY_99"
    mistake = only_mistake(f"secrets: [{names}]\nsteps: [{{run: x}}]")
    assert (mistake.line, mistake.message) == (1, "`secrets`: has 101 names, but at most 100 are allowed")


def test_mistakes_in_a_very_long_line_are_small_together() -> None:
    found = mistakes_in("steps: [" + "{rnu: x}, " * 9_000 + "]")
    assert len(found) == MOST_MISTAKES + 1
    assert sum(len(mistake.text) for mistake in found) <= 10 * 20_000
