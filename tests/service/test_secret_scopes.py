"""Which stored secrets a run may have, and what can be stored."""

import pytest

from pitstop.errors import BadSecret
from pitstop.service.secret_scopes import LONGEST_VALUE_BYTES, SecretRecord, check_secret, check_value, secrets_for


def secret(scope: str, name: str = "KEY", repos: tuple[str, ...] = ()) -> SecretRecord:
    return SecretRecord(name, scope, repos, 1.0, scope.encode())


SERVER, WEB, WEB_CI, CI = secret("server"), secret("repo:web"), secret("flow:web:ci"), secret("flow::ci")
ALLOWING = secret("server", repos=("web",))
FOR_ALL = secret("server", repos=("*",))


@pytest.mark.parametrize(
    ("stored", "repo", "flow", "scope"),
    [
        ([SERVER], None, None, "server"),
        ([SERVER], None, "ci", "server"),
        ([SERVER, CI], None, "ci", "flow::ci"),
        ([CI, SERVER], None, "ci", "flow::ci"),
        ([SERVER, CI], None, "other", "server"),
        ([CI], None, None, None),
        ([WEB, WEB_CI], None, "ci", None),
        ([SERVER], "web", "ci", None),
        ([ALLOWING], "web", "ci", "server"),
        ([ALLOWING], "shop", "ci", None),
        ([ALLOWING], None, None, "server"),
        ([FOR_ALL], "shop", None, "server"),
        ([FOR_ALL, WEB], "web", "ci", "repo:web"),
        ([WEB_CI, WEB, FOR_ALL], "web", "ci", "flow:web:ci"),
        ([WEB_CI, WEB], "web", "other", "repo:web"),
        ([WEB_CI, WEB], "shop", "ci", None),
        ([CI], "web", "ci", None),
    ],
)
def test_the_narrowest_scope_that_a_run_may_have_wins(
    stored: list[SecretRecord], repo: str | None, flow: str | None, scope: str | None
) -> None:
    found = secrets_for(stored, repo, flow).get("KEY")
    assert (None if found is None else found.scope) == scope


def test_each_name_is_found_for_itself() -> None:
    stored = [secret("server", "A"), secret("server", "B"), secret("flow::ci", "B"), secret("repo:web", "C")]
    found = secrets_for(stored, None, "ci")
    assert {name: each.scope for name, each in found.items()} == {"A": "server", "B": "flow::ci"}


@pytest.mark.parametrize("scope", ["server", "repo:web", "repo:a.b-c_1", "flow:web:ci", "flow::nested/ci", "flow::a b"])
def test_what_can_be_stored(scope: str) -> None:
    check_secret("KEY_1", scope)
    check_secret("_key", "server", ["web", "*"])


@pytest.mark.parametrize(
    ("name", "scope", "repos", "told"),
    [
        ("", "server", [], "invalid secret name"),
        ("1KEY", "server", [], "invalid secret name"),
        ("A-KEY", "server", [], "invalid secret name"),
        ("KEY\n", "server", [], "invalid secret name"),
        ("K" * 201, "server", [], "invalid secret name"),
        ("KEY", "", [], "invalid scope '': use server, repo:<repo> or flow:<repo>:<flow>"),
        ("KEY", "Server", [], "invalid scope"),
        ("KEY", "repo:", [], "invalid scope"),
        ("KEY", "repo:Web", [], "invalid scope"),
        ("KEY", "repo:a..b", [], "invalid scope"),
        ("KEY", "repo:web:ci", [], "invalid scope"),
        ("KEY", "flow:ci", [], "invalid scope"),
        ("KEY", "flow::", [], "invalid scope"),
        ("KEY", "flow:../x:ci", [], "invalid scope"),
        ("KEY", "flow::ci\n", [], "invalid scope"),
        ("KEY", "repo:web", ["web"], "only scope server can"),
        ("KEY", "server", ["Web"], "invalid repository 'Web'"),
        ("KEY", "server", ["web"] * 101, "101 repositories are too many"),
    ],
)
def test_what_cannot_be_stored_is_told(name: str, scope: str, repos: list[str], told: str) -> None:
    with pytest.raises(BadSecret) as refused:
        check_secret(name, scope, repos)
    assert told in str(refused.value)


@pytest.mark.parametrize("value", ["x", " ", "é\n", "k" * LONGEST_VALUE_BYTES])
def test_a_value_that_a_command_can_have_is_stored(value: str) -> None:
    check_value("KEY", value)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("", "the value of KEY is empty"),
        ("k" * (LONGEST_VALUE_BYTES + 1), "has 65,537 bytes, but at most 65,536 can be stored"),
        ("é" * (LONGEST_VALUE_BYTES // 2 + 1), "has 65,538 bytes"),
    ],
)
def test_a_value_that_no_command_can_have_is_refused_without_showing_it(value: str, told: str) -> None:
    with pytest.raises(BadSecret) as refused:
        check_value("KEY", value)
    assert told in str(refused.value)
    assert len(str(refused.value)) < 200
