"""The commands for repositories, as a user types them, with real git on both sides."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pitstop.doors.cli.repos.credential import is_for
from pitstop.doors.cli.repos.ingest import is_url, name_of
from pitstop.doors.cli.repos.land import pull_request_url
from pitstop.doors.cli.repos.own_git import without_user
from pitstop.service.caller import LOCAL
from tests.platform.workbench import PASSES, GitFailed, Workbench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Workbench]:
    """A server without repositories, and a repository of the user with a remote of its own."""
    async with Workbench(tmp_path).open() as bench:
        await bench.git("init", "--quiet", "--initial-branch=main", str(bench.clone), at=tmp_path)
        await bench.git("init", "--quiet", "--bare", "--initial-branch=main", str(tmp_path / "real.git"), at=tmp_path)
        await bench.git("remote", "add", "origin", str(tmp_path / "real.git"))
        await bench.commit({".pitstop/flows/ci.yaml": PASSES}, "Add a flow")
        await bench.git("push", "--quiet", "origin", "main")
        yield bench


async def test_a_repository_is_ingested_pushed_to_and_landed(bench: Workbench, tmp_path: Path) -> None:
    said = await bench.pitstop("ingest", "--name", "shop")
    assert "git push pitstop main" in said
    assert "flow   ci  push" in said

    await bench.commit(message="Change it")
    await bench.plain_git("push", "pitstop", "main")
    (run,) = await bench.runs()
    assert run.status == "passed"
    assert "shop  main" in await bench.pitstop("repos")
    assert "started    ci" in await bench.pitstop("repos", "pushes", "shop")
    listed = await bench.pitstop("runs", "--server", bench.house.url, "--repo", "shop")
    assert f"shop main@{(run.commit.sha if run.commit else '')[:7]}  push by owner" in listed

    assert "main: 1 commits to origin (dry run)" in await bench.pitstop("land", "--dry-run")
    assert "now at" in await bench.pitstop("land")
    assert await bench.git("log", "-1", "--format=%s", "main", at=tmp_path / "real.git") == "Change it"
    assert "up to date" in await bench.pitstop("land")


async def test_landing_stops_when_the_remote_is_ahead_and_can_rebase_or_replace(
    bench: Workbench, tmp_path: Path
) -> None:
    await bench.pitstop("ingest", "--name", "shop")
    second = tmp_path / "second"
    await bench.git("clone", "--quiet", str(tmp_path / "real.git"), str(second), at=tmp_path)
    await bench.git("commit", "--quiet", "--allow-empty", "-m", "From another clone", at=second)
    await bench.git("push", "--quiet", "origin", "main", at=second)
    await bench.commit({"mine": "mine\n"}, "Mine")
    await bench.plain_git("push", "--quiet", "pitstop", "main")

    said = await bench.pitstop("land", expect=1)
    assert "origin has 1 commits that Pitstop does not have (Pitstop has 1 more): use --rebase" in said
    await bench.pitstop("land", "--rebase")
    subjects = await bench.git("log", "--format=%s", "main", at=tmp_path / "real.git")
    assert subjects.splitlines() == ["Mine", "From another clone", "Add a flow"]
    await bench.pitstop("land", "--force-with-lease")
    subjects = await bench.git("log", "--format=%s", "main", at=tmp_path / "real.git")
    assert subjects.splitlines() == ["Mine", "Add a flow"]


async def test_a_repository_is_landed_from_anywhere_to_the_remote_that_it_came_from(
    bench: Workbench, tmp_path: Path
) -> None:
    await bench.pitstop("ingest", f"file://{tmp_path}/real.git", "--name", "shop", at=tmp_path)
    await bench.plain_git("remote", "add", "pitstop", bench.url())
    await bench.commit(message="Change it")
    await bench.git("push", "--quiet", "pitstop", "main")

    assert "now at" in await bench.pitstop("land", "shop", at=tmp_path)
    assert await bench.git("log", "-1", "--format=%s", "main", at=tmp_path / "real.git") == "Change it"


async def test_no_token_is_stored_or_shown_anywhere(bench: Workbench) -> None:
    said = await bench.pitstop("ingest", "--name", "shop")
    kept = (bench.clone / ".git/config").read_text()
    assert bench.token not in said + kept
    assert "git-credential --server" in kept
    with pytest.raises(GitFailed):  # the token of this user is for the server of this user, and for no other
        await bench.plain_git("push", "pitstop", "main:topic", PITSTOP_HOME=str(bench.clone))
    await bench.plain_git("push", "pitstop", "main:topic", PITSTOP_TOKEN=bench.token, PITSTOP_HOME=str(bench.clone))


async def test_what_cannot_be_ingested_is_refused_with_the_way_out(bench: Workbench, tmp_path: Path) -> None:
    await bench.commit()
    await bench.git("push", "--quiet", "origin", "main")
    shallow = f"file://{tmp_path}/real.git"
    await bench.git("clone", "--quiet", "--depth=1", shallow, str(tmp_path / "shallow"), at=tmp_path)
    (tmp_path / "plain").mkdir()
    for words, code, message in (
        (("ingest", str(tmp_path / "shallow")), 2, "git fetch --unshallow"),
        (("ingest", str(tmp_path / "plain")), 2, "is not in a git repository"),
        (("ingest", str(tmp_path / "nowhere")), 2, "neither a folder nor the URL"),
        (("ingest", "--name", "Bad Name"), 1, "invalid repository name 'Bad Name'"),
        (("ingest", f"file://{tmp_path}/none.git"), 1, "git clone failed"),
        (("land",), 2, "has no remote `pitstop`"),
        (("repos", "flows"), 2, "needs the name of a repository"),
        (("repos", "rm", "shop"), 1, "there is no repository 'shop'"),
        (("fire", "shop"), 2, "use REPO:FLOW"),
    ):
        assert message in await bench.pitstop(*words, expect=code), words
    await bench.pitstop("ingest", "--name", "shop")
    assert "already exists" in await bench.pitstop("ingest", "--name", "shop", expect=2)
    assert "start one with" in await bench.pitstop("repos", expect=1, PITSTOP_HOME=str(tmp_path / "empty"))


async def test_what_does_not_come_along_is_said(bench: Workbench) -> None:
    await bench.commit(
        {
            ".gitattributes": "*.bin filter=lfs\n",
            ".gitmodules": "",
            ".github/workflows/ci.yml": "on: push\n",
            ".lazyaf/pipelines/a.yaml": "x: 1\n",
            ".pitstop/flows/broken.yaml": "steps: 1\n",
        }
    )
    said = await bench.pitstop("ingest", "--name", "shop")
    for part in ("Git LFS", "submodules are not ingested", "GitHub workflows", "LazyAF pipelines", "broken.yaml:1:"):
        assert part in said


async def test_flows_are_started_checked_and_switched_off(bench: Workbench) -> None:
    await bench.pitstop("ingest", "--name", "shop")
    started = (await bench.pitstop("fire", "shop:ci@main")).splitlines()[0]
    assert (await bench.runs())[0].id == started
    assert "hello from" in await bench.pitstop("run", "shop:ci", "--server", bench.house.url)
    assert "shop:ci: OK" in await bench.pitstop("check", "shop:ci", "--server", bench.house.url)
    await bench.pitstop("repos", "disable", "shop", "ci")
    assert "is disabled" in await bench.pitstop("fire", "shop:ci", expect=2)
    assert "ci  push  disabled" in await bench.pitstop("repos", "flows", "shop")
    await bench.pitstop("repos", "enable", "shop", "ci")
    await bench.pitstop("repos", "protect", "shop", "main")
    assert (await bench.repos.get(LOCAL, "shop")).protected == ("main",)
    await bench.pitstop("repos", "unprotect", "shop", "main")
    await bench.pitstop("repos", "rm", "shop")
    assert "no repositories" in await bench.pitstop("repos")


async def test_tokens_are_made_listed_and_revoked(bench: Workbench) -> None:
    await bench.pitstop("ingest", "--name", "shop")
    said = await bench.pitstop("tokens", "add", "ci", "--scope", "git:read", "--repo", "shop", "--lasts", "1h")
    (token,) = [line for line in said.splitlines() if " " not in line]
    assert "main" in await bench.git("ls-remote", bench.url(), token=token)
    assert "ci  viewer  git:read shop  since" in await bench.pitstop("tokens", "ls")
    await bench.pitstop("tokens", "rm", "ci")
    assert "ci  viewer" not in await bench.pitstop("tokens", "ls")
    assert "needs the role viewer" in await bench.pitstop(
        "tokens", "add", "x", "--scope", "git:read", "--role", "operator", expect=2
    )


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("https://example.com/Team/My Shop.git", "my-shop"),
        ("git@example.com:team/shop", "shop"),
        ("/home/ada/..weird..", "weird"),
        ("/", "repo"),
    ],
)
def test_a_repository_is_named_after_where_it_is(source: str, name: str) -> None:
    assert name_of(source) == name


def test_urls_are_told_from_paths_and_lose_their_passwords() -> None:
    assert is_url("https://example.com/x.git")
    assert is_url("git@example.com:x.git")
    assert not is_url("../x")
    assert without_user("https://ada:secret@example.com/x") == "https://example.com/x"
    assert without_user("git@example.com:x") == "git@example.com:x"


def test_credentials_are_given_to_the_server_and_to_nothing_else() -> None:
    url = "http://127.0.0.1:7878"
    assert is_for(url, {"protocol": "http", "host": "127.0.0.1:7878"})
    assert not is_for(url, {"protocol": "https", "host": "127.0.0.1:7878"})
    assert not is_for(url, {"protocol": "http", "host": "127.0.0.1:7879"})
    assert not is_for(url, {})


@pytest.mark.parametrize(
    ("remote", "url"),
    [
        ("git@github.com:a/b.git", "https://github.com/a/b/compare/x/y?expand=1"),
        (
            "https://gitlab.com/a/b.git",
            "https://gitlab.com/a/b/-/merge_requests/new?merge_request%5Bsource_branch%5D=x%2Fy",
        ),
        ("https://example.com/a/b", None),
    ],
)
def test_the_page_of_a_pull_request_is_known_for_common_hosts(remote: str, url: str | None) -> None:
    assert pull_request_url(remote, "x/y") == url
