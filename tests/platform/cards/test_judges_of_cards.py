"""Flows that judge cards when they are in review or done, and the news of a card."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

from pitstop.platform.feed_values import News
from pitstop.service.caller import LOCAL
from pitstop.service.cards import CardMove, NewNote, StartCard, Work
from pitstop.service.repos import FiringInfo, RepoChanges
from tests.patience import wait_until
from tests.platform.card_bench import (
    JUDGE,
    approved_text,
    card_of,
    cards_of,
    http_of,
    profile,
    reviewed,
    run_of,
    scripted_profile,
    settled,
    summary_of,
    worked,
    write,
)
from tests.platform.workbench import Workbench


def judge(trigger: str, run: str = "'true'") -> str:
    return f"on: {{card_complete: {{{trigger}}}}}\nsteps:\n  - {{id: judge, run: {run}}}\n"


async def add_flows(bench: Workbench, **flows: str) -> None:
    await bench.commit({f".pitstop/flows/{name}.yaml": text for name, text in flows.items()})
    await bench.push()


async def firings_of(bench: Workbench, kind: str = "card_complete") -> dict[str, FiringInfo]:
    return {each.flow: each for each in await bench.firings() if each.kind == kind}


async def system_notes(bench: Workbench, card: str) -> list[str]:
    return [note.text for note in await cards_of(bench).notes(LOCAL, card) if note.kind == "system"]


async def test_what_a_failed_judge_does_is_what_its_trigger_says(bench: Workbench) -> None:
    await add_flows(
        bench,
        fails=judge("on_fail: fail, labels: [strict]", "exit 3"),
        rejects=judge("on_fail: reject, labels: [loose, other]", "exit 4"),
        notes=judge("on_fail: nothing, labels: [quiet]", "exit 5"),
        passes=judge("on_fail: fail, labels: [fine]"),
    )
    cards = [
        await reviewed(bench, f"{label}.txt", labels=(label,)) for label in ("strict", "loose", "quiet", "fine", "none")
    ]
    ended = [await settled(bench, card.id) for card in cards]
    assert [card.status for card in ended] == ["failed", "todo", "in_review", "in_review", "in_review"]
    notes = [await system_notes(bench, card.id) for card in cards]
    assert [len(each) for each in notes] == [1, 1, 1, 0, 0]
    for card, (note, *_), said in zip(ended, notes[:3], ("fails", "rejects", "notes"), strict=False):
        assert note.startswith(f"{said} failed: ")
        assert card.reason == (None if said == "notes" else note)
    assert ended[0].unresolved_notes == 0


async def test_a_judge_that_is_not_started_says_why(bench: Workbench) -> None:
    broken = judge("on_pass: merge").replace("run: 'true'", "run: [1]")
    await add_flows(
        bench,
        labeled=judge("labels: [backend, api]"),
        off=judge("enabled: false"),
        disabled=judge("on_pass: merge"),
        done=judge("status: done"),
        broken=broken,
    )
    await bench.repos.update(LOCAL, bench.repo, RepoChanges(disabled_flows=("disabled",)))
    card = await settled(bench, (await reviewed(bench)).id)
    assert card.status == "in_review"
    found = await firings_of(bench)
    refused = found.pop("broken")
    assert (refused.outcome, refused.run) == ("refused", None)
    assert "the flow file has errors: .pitstop/flows/broken.yaml:3: " in (refused.reason or "")
    reasons = {flow: (firing.outcome, firing.reason) for flow, firing in found.items()}
    assert reasons == {
        "labeled": ("skipped", "the card has none of the labels backend, api"),
        "off": ("skipped", "the trigger is disabled in the flow file"),
        "disabled": ("skipped", "the flow is disabled in the settings of the repository"),
    }


async def test_a_flow_can_follow_a_card_that_is_done_and_sees_what_it_was(bench: Workbench, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    facts = "env: {TITLE: '${{ .trigger.card.title }}', CARD: '${{ .trigger.card.id }} ${{ .trigger.card.status }}'}"
    await add_flows(
        bench,
        merges=judge("on_pass: merge", "test -f b.txt"),
        merges_too=judge("on_pass: merge", "test -f b.txt"),
        follows=f"on: {{card_complete: {{status: done}}}}\nsteps:\n  - id: see\n    {facts}\n"
        f'    run: printf "%s\\n" "$CARD" "$TITLE" "$(git rev-parse HEAD)" > {seen}\n',
    )
    title = "Say ${{ 1 + 1 }} $(id)"
    done = await settled(bench, (await reviewed(bench, title=title)).id)
    assert (done.status, await system_notes(bench, done.id)) == ("done", [])
    head = (await bench.info()).head
    assert head is not None
    assert (head.sha, head.subject) == (done.merged_sha, f"Merge card 1: {title}")
    assert {each.status for each in await bench.runs()} == {"passed"}
    assert seen.read_text().splitlines() == [f"{done.id} done", title, done.merged_sha]


async def test_a_judge_of_an_old_head_neither_merges_nor_moves_the_card(bench: Workbench, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    waits = f"'if test ! -f new.txt; then while [ ! -e {gate} ]; do sleep 0.02; done; fi; test -f new.txt'"
    merges = waits.replace("; test -f new.txt", "")
    await add_flows(bench, fails=judge("on_fail: fail", waits), merges=judge("on_pass: merge, on_fail: fail", merges))
    card = await reviewed(bench)
    for run in (await summary_of(bench, card.id)).judges:
        await run_of(bench, run, "running")
    await bench.repos.update(LOCAL, bench.repo, RepoChanges(disabled_flows=("merges",)))
    head = await write(bench, "new.txt", "new\n", card.branch or "")
    gate.touch()
    ended = await settled(bench, card.id)
    assert (ended.status, ended.head_sha, ended.reason) == ("in_review", head, None)
    old = await system_notes(bench, card.id)
    assert sorted(note.partition(":")[0] for note in old) == ["fails failed", "merges failed"]
    assert any("it was expected at" in note for note in old)
    assert [each.name for each in (await bench.repos.tree(LOCAL, bench.repo, "main")).entries] == [".pitstop"]


async def test_a_judge_of_a_protected_branch_merges_as_long_as_it_is_the_flow_on_that_branch(bench: Workbench) -> None:
    await add_flows(bench, judge=JUDGE)
    await bench.repos.update(LOCAL, bench.repo, RepoChanges(protected=("main", "release")))
    done = await settled(bench, (await reviewed(bench, "work.txt", "good\n")).id)
    assert (done.status, done.reason) == ("done", None)
    assert await approved_text(bench, "work.txt") == "good\n"
    await bench.repos.update(LOCAL, bench.repo, RepoChanges(protected=("main",)))
    await bench.push("HEAD~0:refs/heads/release")
    await bench.repos.write(LOCAL, bench.repo, "release", ".pitstop/flows/judge.yaml", JUDGE + "# another\n")
    await bench.repos.update(LOCAL, bench.repo, RepoChanges(protected=("main", "release")))
    other = await settled(bench, (await reviewed(bench, "work.txt", "good\n", base="release")).id)
    assert other.status == "failed"
    assert ".pitstop/flows/judge.yaml differs from the file on that branch" in (other.reason or "")


async def test_a_card_goes_from_the_board_through_its_agent_and_its_judge_to_the_main_branch(bench: Workbench) -> None:
    writer = profile("if grep -q 'Make it good' ; then echo good; else echo bad; fi > work.txt")
    await bench.commit({".pitstop/agents/writer.yaml": writer, ".pitstop/flows/judge.yaml": JUDGE})
    await bench.push()  # 1. the repository is there
    async with http_of(bench) as client:
        new = {"title": "Write it", "work": {"agent": "writer"}, "labels": ["docs"]}
        card = (await client.post(f"/repos/{bench.repo}/cards", json=new)).json()["id"]  # 2. a card is created
        started = (await client.post(f"/cards/{card}/start", json={})).json()  # 3. and started
        assert (started["status"], started["attempt"]) == ("in_progress", 1)  # 4. its agent works
        failed = await settled(bench, card)  # 5. it is reviewed, and 6. judged
        assert (failed.status, "judge failed" in (failed.reason or "")) == ("failed", True)  # 8. which fails
        kinds = [each.kind for each in await bench.firings() if each.run is not None]
        assert kinds == ["card", "card_complete"]
        assert (
            await client.post(f"/cards/{card}/start", json={"guidance": "Make it good"})
        ).is_success  # it is retried
    done = await settled(bench, card)
    assert (done.status, done.reason) == ("done", None)  # 7. it passes and is merged
    assert await approved_text(bench, "work.txt") == "good\n"
    assert [(each.number, each.outcome) for each in await cards_of(bench).attempts(LOCAL, card)] == [
        (2, "passed"),
        (1, "passed"),
    ]
    merged = await bench.plain_git("log", "--format=%B", "--first-parent", "-1", "main", at=bench.bare)
    assert f"Card: {card}" in merged.splitlines()
    worked_by = await bench.plain_git("log", "--format=%an|%B", "-1", "main^2", at=bench.bare)
    assert worked_by.startswith("Pitstop card|Write it\n")
    assert {f"Card: {card}", "Agent: writer", f"Run: {done.run}"} <= set(worked_by.splitlines())


# --- News ------------------------------------------------------------------------------------------------------------


async def news_of(bench: Workbench, topic: str, last: str) -> list[News]:
    """All news of a topic up to the first of a kind."""
    feed = bench.house.service.feed
    assert feed is not None
    told: list[News] = []
    follow = cast("AsyncIterator[Any]", feed.follow(LOCAL, [topic], 0))
    async with aclosing(follow) as news:  # type: ignore[type-var]
        async for each in news:
            if each is not None:
                told.append(each)
                if each.kind == last:
                    break
    return told


async def test_the_feed_tells_all_that_happens_to_a_card_and_what_its_agent_does(
    bench: Workbench, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    calls: list[dict[str, Any]] = [
        {"tool": "shell", "command": "touch first"},
        {"tool": "shell", "command": f"while [ ! -e {gate} ]; do sleep 0.02; done"},
    ]
    await write(bench, ".pitstop/agents/scripted.yaml", scripted_profile(tmp_path, calls))
    cards = cards_of(bench)
    other = await card_of(bench, Work(), "Other")
    card = await card_of(bench, Work(agent="scripted"), start=True)

    async def is_told() -> bool:
        live = (await summary_of(bench, card.id)).live
        return live is not None and (live.calls, live.tool) == (2, "shell") and str(gate) in live.about

    await wait_until(is_told)
    assert (await summary_of(bench, card.id)).run_status == "running"
    gate.touch()
    await settled(bench, card.id)
    assert (await cards.attempts(LOCAL, card.id))[0].live.calls == 2
    note = await cards.note(LOCAL, card.id, NewNote(text="Fine"))
    await cards.resolve_note(LOCAL, card.id, note.id)
    await cards.move(LOCAL, card.id, CardMove(status="in_review"))
    await cards.approve(LOCAL, card.id)
    await cards.delete(LOCAL, card.id)

    told = await news_of(bench, f"repo:{bench.repo}", "card.deleted")
    of_card = [each for each in told if each.body.get("card") == card.id]
    kinds = [each.kind for each in of_card if each.kind not in ("attempt.progress", "card.changed")]
    assert kinds == [
        "card.created",
        "card.moved",
        "attempt.started",
        "attempt.ended",
        "card.moved",
        "card.noted",
        "card.noted",
        "card.moved",
        "card.moved",
        "merge.done",
        "card.deleted",
    ]
    assert [each.body["status"] for each in of_card if each.kind == "card.moved"] == [
        *("in_progress", "in_review", "in_review", "done")
    ]
    progress = [each.body["run_status"] for each in of_card if each.kind == "attempt.progress"]
    assert "running" in progress
    versions = [each.body["version"] for each in of_card]
    assert versions == sorted(versions)
    assert await news_of(bench, f"card:{card.id}", "card.deleted") == of_card
    assert not any(each.is_of([f"card:{other.id}"]) for each in of_card)


async def test_a_judge_that_fails_is_retried_with_the_card_and_judges_the_same_commit_again(bench: Workbench) -> None:
    await add_flows(bench, judge=judge("on_fail: fail", "exit 3"))
    card = await worked(bench)
    assert card.status == "failed"
    await cards_of(bench).start(LOCAL, card.id, StartCard())
    again = await settled(bench, card.id)
    assert (again.status, again.head_sha) == ("failed", card.head_sha)
    judged = [each for each in await bench.firings() if each.kind == "card_complete"]
    assert [(each.outcome, each.sha) for each in judged] == [("started", card.head_sha)] * 2
