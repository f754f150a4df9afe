import asyncio
from contextlib import ExitStack

import pytest

from pitstop.engine.amount import Amount
from pitstop.runs import workspace_progress
from pitstop.runs.run_output import WorkspaceWork
from pitstop.runs.workspace_progress import ProgressTelling, in_words
from pitstop.service.runs import WorkspaceProgress


def amount(files: int = 0, size: int = 0, of_files: int | None = None, of_size: int | None = None) -> Amount:
    made = Amount()
    made.files, made.bytes, made.of_files, made.of_bytes = files, size, of_files, of_size
    return made


@pytest.mark.parametrize(
    ("doing", "done", "text"),
    [
        ("keeping", amount(), "storing the workspace files: scanning"),
        (
            "keeping",
            amount(12_345, 800_000_000, 50_000, 2_040_000_000),
            "storing the workspace files: 12,345 of 50,000 files, 0.8 of 2.0 GB",
        ),
        (
            "putting_back",
            amount(1, 2_000_000, 3, 300_000_000),
            "restoring the workspace files: 1 of 3 files, 2 of 300 MB",
        ),
        ("keeping", amount(9, 9_000, 3, 3_000), "storing the workspace files: 3 of 3 files, 3 of 3 kB"),
    ],
    ids=("nothing is known yet", "large", "small", "more than there was at first"),
)
def test_how_far_it_is_is_said_in_words(doing: WorkspaceWork, done: Amount, text: str) -> None:
    assert in_words(doing, done) == text


def test_what_was_done_is_said_in_words() -> None:
    done = amount(50_000, 2_040_000_000, 50_000, 2_040_000_000)
    assert in_words("keeping", done, after_seconds=81.23) == (
        "stored the workspace files: 50,000 files, 2.0 GB, in 81.2 s"
    )


async def test_what_is_over_soon_is_not_told() -> None:
    told: list[WorkspaceProgress] = []
    telling = ProgressTelling(told.append)

    with telling.telling("keeping"):
        await asyncio.sleep(0)

    assert told == []


async def test_work_beside_another_is_told_when_that_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_progress, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(workspace_progress, "EVERY_SECONDS", 0.001)
    told: asyncio.Queue[WorkspaceProgress] = asyncio.Queue()
    telling = ProgressTelling(told.put_nowait)

    with ExitStack() as beside:
        with telling.telling("keeping"):
            heard = [await told.get()]
            beside.enter_context(telling.telling("putting_back"))
            heard += [await told.get() for _ in range(9)]
        while not heard[-1].is_over:
            heard.append(told.get_nowait())
        after = [await told.get()]
    after += [told.get_nowait() for _ in range(told.qsize())]

    assert {each.doing for each in heard} == {"keeping"}
    assert {each.doing for each in after} == {"putting_back"}
    assert after[-1].is_over


async def test_work_that_fails_is_over_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_progress, "FIRST_SECONDS", 0.0)
    told: asyncio.Queue[WorkspaceProgress] = asyncio.Queue()

    with pytest.raises(OSError, match="full"), ProgressTelling(told.put_nowait).telling("keeping"):
        assert not (await told.get()).is_over
        raise OSError("full")

    last = told.get_nowait()
    assert (last.is_over, last.text) == (True, "")
