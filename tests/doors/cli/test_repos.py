"""The commands for repositories, as a user types them, with real git on both sides."""

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio

from pitstop.doors.cli.repos.credential import is_for
from pitstop.doors.cli.repos.ingest import is_url, name_of
from pitstop.doors.cli.repos.land import pull_request_url
from pitstop.doors.cli.repos.own_git import without_user
from pitstop.service.caller import LOCAL
from pitstop.service.repos import NewRepo
from tests.patience import wait_until
from tests.platform.warm_command import WarmCommand, warm_command
from tests.platform.workbench import PASSES, GitFailed, Workbench

NUMBERS = count(1)
REPORTS = "on: push\nsteps: [{id: test, run: cp given.xml report.xml, tests: report.xml}]\n"
REPORT = """\
<testsuite>
  <testcase classname="shop" name="a"/>
  <testcase classname="shop" name="b"><failure message="no"/></testcase>
</testsuite>
"""
in_module_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Workbench]:
    async with Workbench(tmp_path_factory.mktemp("server")).serving() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def command(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[WarmCommand]:
    async with warm_command(tmp_path_factory.mktemp("command")) as command:
        yield command


@pytest_asyncio.fixture(loop_scope="module")
async def bench(server: Workbench, command: WarmCommand, tmp_path: Path) -> Workbench:
    """A repository of the user with a remote of its own. On the server its name is not taken."""
    bench = server.sharing(tmp_path, f"shop-{next(NUMBERS)}", command)
    await bench.git("init", "--quiet", "--bare", "--initial-branch=main", str(tmp_path / "real.git"), at=tmp_path)
    await bench.begin_clone(str(tmp_path / "real.git"))
    await bench.commit({".pitstop/flows/ci.yaml": PASSES}, "Add a flow")
    await bench.git("push", "--quiet", "origin", "main")
    return bench


async def take_in(bench: Workbench) -> None:
    """The same as `pitstop ingest`, for a test of other commands."""
    await bench.repos.create(LOCAL, NewRepo(name=bench.repo, ingest=True))
    await bench.git("remote", "add", "pitstop", bench.url())
    await bench.git("push", "--quiet", "pitstop", "main")
    await bench.repos.finish_ingest(LOCAL, bench.repo)


async def landed(bench: Workbench) -> list[str]:
    """The subjects on the main branch of the user's own remote, the newest first."""
    return (await bench.git("log", "--format=%s", "main", at=bench.clone.with_name("real.git"))).splitlines()


@in_module_loop
async def test_a_repository_is_ingested_pushed_to_and_landed(bench: Workbench) -> None:
    said = await bench.pitstop("ingest", "--name", bench.repo)
    assert "git push pitstop main" in said
    assert "flow   ci  push" in said

    await bench.commit(message="Change it")
    await bench.plain_git("push", "pitstop", "main")
    (run,) = await bench.runs()
    assert run.status == "passed"
    assert f"{bench.repo}  main" in await bench.pitstop("repos")
    assert "started    ci" in await bench.pitstop("repos", "pushes", bench.repo)
    listed = await bench.pitstop("runs", "--server", bench.house.url, "--repo", bench.repo)
    assert f"{bench.repo} main@{(run.commit.sha if run.commit else '')[:7]}  push by owner" in listed

    assert "main: 1 commits to origin (dry run)" in await bench.pitstop("land", "--dry-run")
    assert "now at" in await bench.pitstop("land")
    assert await landed(bench) == ["Change it", "Add a flow"]
    assert "up to date" in await bench.pitstop("land")


@in_module_loop
async def test_landing_stops_when_the_remote_is_ahead_and_can_rebase_or_replace(
    bench: Workbench, tmp_path: Path
) -> None:
    await take_in(bench)
    second = tmp_path / "second"
    await bench.git("clone", "--quiet", str(tmp_path / "real.git"), str(second), at=tmp_path)
    await bench.git("commit", "--quiet", "--allow-empty", "-m", "From another clone", at=second)
    await bench.git("push", "--quiet", "origin", "main", at=second)
    await bench.commit({"mine": "mine\n"}, "Mine")
    await bench.git("push", "--quiet", "pitstop", "main")

    said = await bench.pitstop("land", expect=1)
    assert "origin has 1 commits that Pitstop does not have (Pitstop has 1 more): use --rebase" in said
    await bench.pitstop("land", "--rebase")
    assert await landed(bench) == ["Mine", "From another clone", "Add a flow"]
    await bench.pitstop("land", "--force-with-lease")
    assert await landed(bench) == ["Mine", "Add a flow"]


@in_module_loop
async def test_a_repository_is_landed_from_anywhere_to_the_remote_that_it_came_from(
    bench: Workbench, tmp_path: Path
) -> None:
    await bench.pitstop("ingest", f"file://{tmp_path}/real.git", "--name", bench.repo, at=tmp_path)
    await bench.plain_git("remote", "add", "pitstop", bench.url())
    await bench.commit(message="Change it")
    await bench.git("push", "--quiet", "pitstop", "main")

    assert "now at" in await bench.pitstop("land", bench.repo, at=tmp_path)
    assert await landed(bench) == ["Change it", "Add a flow"]


@in_module_loop
async def test_no_token_is_stored_or_shown_anywhere(bench: Workbench) -> None:
    said = await bench.pitstop("ingest", "--name", bench.repo)
    kept = (bench.clone / ".git/config").read_text()
    assert bench.token not in said + kept
    assert "git-credential --server" in kept
    with pytest.raises(GitFailed):  # the token of this user is for the server of this user, and for no other
        await bench.plain_git("push", "pitstop", "main:topic", PITSTOP_HOME=str(bench.clone))
    await bench.plain_git("push", "pitstop", "main:topic", PITSTOP_TOKEN=bench.token, PITSTOP_HOME=str(bench.clone))


@in_module_loop
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
        (("ingest", "--name", ".."), 1, "invalid repository name '..'"),
        (("ingest", f"file://{tmp_path}/none.git"), 1, "git clone failed"),
        (("land",), 2, "has no remote `pitstop`"),
        (("repos", "flows"), 2, "needs the name of a repository"),
        (("repos", "rm", bench.repo), 1, f"there is no repository '{bench.repo}'"),
        (("fire", bench.repo), 2, "use REPO:FLOW"),
    ):
        assert message in await bench.pitstop(*words, expect=code), words
    await take_in(bench)
    assert "already exists" in await bench.pitstop("ingest", "--name", bench.repo, expect=2)
    assert "start one with" in await bench.pitstop("repos", expect=1, PITSTOP_HOME=str(tmp_path / "empty"))


@in_module_loop
async def test_a_password_in_a_url_is_not_shown_when_it_cannot_be_cloned(bench: Workbench, tmp_path: Path) -> None:
    said = await bench.pitstop(
        "ingest", "http://ada:s3cretPassw0rd@127.0.0.1:1/x.git", "--name", bench.repo, at=tmp_path, expect=1
    )
    assert "git clone failed" in said
    assert "s3cret" not in said


@in_module_loop
async def test_an_empty_repository_is_ingested_and_says_how_to_begin(bench: Workbench, tmp_path: Path) -> None:
    await bench.git("init", "--quiet", "--initial-branch=main", str(tmp_path / "empty"), at=tmp_path)
    said = await bench.pitstop("ingest", "--name", bench.repo, at=tmp_path / "empty")
    assert "main at no commit yet" in said
    assert "git push pitstop main" in said
    assert (await bench.info()).state == "ready"


@in_module_loop
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
    said = await bench.pitstop("ingest", "--name", bench.repo)
    for part in ("Git LFS", "submodules are not ingested", "GitHub workflows", "LazyAF pipelines", "broken.yaml:1:"):
        assert part in said


@in_module_loop
async def test_flows_are_started_checked_and_switched_off(bench: Workbench) -> None:
    await take_in(bench)
    flow = f"{bench.repo}:ci"
    started = (await bench.pitstop("fire", f"{flow}@main")).splitlines()[0]
    assert (await bench.runs())[0].id == started
    assert "hello from" in await bench.pitstop("run", flow, "--server", bench.house.url)
    assert f"{flow}: OK" in await bench.pitstop("check", flow, "--server", bench.house.url)
    await bench.pitstop("repos", "disable", bench.repo, "ci")
    assert "is disabled" in await bench.pitstop("fire", flow, expect=2)
    assert "ci  push  disabled" in await bench.pitstop("repos", "flows", bench.repo)
    await bench.pitstop("repos", "enable", bench.repo, "ci")
    assert (await bench.info()).disabled_flows == ()
    await bench.pitstop("repos", "protect", bench.repo, "main")
    assert (await bench.info()).protected == ("main",)
    await bench.pitstop("repos", "unprotect", bench.repo, "main")
    assert (await bench.info()).protected == ()
    await bench.pitstop("repos", "rm", bench.repo)
    assert bench.repo not in await bench.pitstop("repos")


@in_module_loop
async def test_the_tests_of_a_branch_are_listed(bench: Workbench) -> None:
    await take_in(bench)
    none = await bench.pitstop("repos", "tests", bench.repo)
    await bench.commit({".pitstop/flows/tests.yaml": REPORTS, "given.xml": REPORT})
    await bench.git("push", "--quiet", "pitstop", "main")
    await bench.runs()

    async def failing() -> str | None:
        printed = await bench.pitstop("repos", "tests", bench.repo)
        return None if printed == none else printed

    assert none == "no test reports on the default branch yet: `tests:` of a step says where its report is"
    assert await wait_until(failing) == "failing   shop  b  failed in 1 of 1 runs, 0 ms  tests test"
    listed = await bench.pitstop("repos", "tests", bench.repo, "--state", "slow", "--branch", "main")
    assert [line.split()[2] for line in listed.splitlines()] == ["a", "b"]
    assert (
        await bench.pitstop("repos", "tests", bench.repo, "--state", "flaky") == "no flaky tests on the default branch"
    )


@in_module_loop
async def test_tokens_are_made_listed_and_revoked(bench: Workbench) -> None:
    await take_in(bench)
    said = await bench.pitstop("tokens", "add", "ci", "--scope", "git:read", "--repo", bench.repo, "--lasts", "1h")
    (token,) = [line for line in said.splitlines() if " " not in line]
    assert "main" in await bench.git("ls-remote", bench.url(), token=token)
    assert f"ci  viewer  git:read {bench.repo}  since" in await bench.pitstop("tokens", "ls")
    await bench.pitstop("tokens", "rm", "ci")
    assert "ci  viewer" not in await bench.pitstop("tokens", "ls")
    assert "needs the role viewer" in await bench.pitstop(
        "tokens", "add", "x", "--scope", "git:read", "--role", "operator", expect=2
    )


@in_module_loop
async def test_a_server_without_repositories_says_so(tmp_path: Path, command: WarmCommand) -> None:
    async with Workbench(tmp_path, command=command).open() as bench:
        assert "no repositories" in await bench.pitstop("repos", at=tmp_path)


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
