"""From a repository to its own remote: cards describe the work, an agent does it, and a flow judges and merges it."""

from pathlib import Path

from tests.platform.card_bench import approved_text, profile, settled
from tests.platform.warm_command import warm_command
from tests.platform.workbench import Workbench

CLERK = profile("""
case "$(cat)" in
  *"as EUR"*) echo "12.50 EUR" > price.txt ;;
  *currency*) echo "12.50 euros" > price.txt ;;
  *) echo "replacing the comma"; sed -i s/,/./ price.txt ;;
esac
""")
REVIEW = """\
on: {{card_complete: {{on_pass: merge, on_fail: fail}}}}
steps:
  - {{id: wait, run: 'until test -e {opened}; do sleep 0.01; done'}}
  - {{id: test, run: 'sh test.sh'}}
  - {{id: validate, run: 'test "$(wc -l < price.txt)" = 1'}}
"""
TEST = "cat price.txt\ngrep -Eqx '[0-9]+[.][0-9]{2}( EUR)?' price.txt\n"


async def test_work_is_described_done_judged_merged_and_landed(tmp_path: Path) -> None:
    opened = tmp_path / "review is open"
    async with warm_command(tmp_path) as command, Workbench(tmp_path, command=command).open() as bench:
        await create_project(bench, REVIEW.format(opened=f'"{opened}"'))

        # A repository is ingested, and two cards describe what it needs
        assert "git push pitstop main" in await bench.pitstop("ingest", "--name", "shop")
        for title in ("Repair the price", "Add the currency"):
            assert f": {title}" in await bench.pitstop("cards", "add", title, "--agent", "clerk")

        # The agent works on the first one, on a branch of its own, and then it is in review
        said = await bench.pitstop("cards", "start", "1", "--follow")
        assert "shop-1: attempt 1 on card/1-repair-the-price is run" in said
        assert "shop-1 is in review at" in said
        work = said.partition(" is run ")[2].split()[0]
        assert "replacing the comma" in await bench.pitstop("logs", work, "--server", bench.house.url)
        assert "-12,50\n+12.50" in await bench.pitstop("cards", "diff", "1")

        # The flow has been started by that, and merges the card when its tests pass
        assert "judged by" in await bench.pitstop("cards")
        assert await approved_text(bench, "price.txt") == "12,50\n"
        opened.touch()
        assert (await settled(bench, "shop-1")).status == "done"
        assert await approved_text(bench, "price.txt") == "12.50\n"

        # The second card fails its review, and the agent is told how to do better
        await bench.pitstop("cards", "start", "2")
        assert (await settled(bench, "shop-2")).status == "failed"
        assert "review failed: test: exit code 1" in await bench.pitstop("cards", "show", "2")
        assert await approved_text(bench, "price.txt") == "12.50\n"
        await bench.pitstop("cards", "retry", "2", "--guidance", "Write it as EUR.")
        assert (await settled(bench, "shop-2")).status == "done"
        assert "done (2)" in await bench.pitstop("cards")

        # The user takes all of it to the real remote
        assert "main: 5 commits to origin" in await bench.pitstop("land")
        assert await bench.git("show", "main:price.txt", at=tmp_path / "real.git") == "12.50 EUR"


async def create_project(bench: Workbench, review: str) -> None:
    """A clone of a real remote, with an agent, a flow and something to repair."""
    remote = bench.clone.with_name("real.git")
    await bench.git("init", "--quiet", "--bare", "--initial-branch=main", str(remote), at=bench.clone.parent)
    await bench.begin_clone(str(remote))
    files = {".pitstop/agents/clerk.yaml": CLERK, ".pitstop/flows/review.yaml": review}
    await bench.commit({**files, "price.txt": "12,50\n", "test.sh": TEST})
    await bench.git("push", "--quiet", "origin", "main")
