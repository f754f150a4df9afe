"""What doors are told, and what is never kept."""

from pathlib import Path

from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.events.types import (
    ConfigOverridden,
    Event,
    FrameCancelled,
    FrameOpened,
    OutcomeForced,
    Rewound,
    RunStarted,
    ScopeEdited,
    ShellClosed,
    ShellOpened,
    StepFinished,
    StepInjected,
    StepRetried,
)
from pitstop.runs.journal import Journal
from pitstop.runs.telling import intervention_text, masked, masked_event, tell_event
from pitstop.store.folder import FolderStore
from pitstop.store.port import RunRecord


def hide(text: str) -> str:
    return text.replace("hunter2", "***").replace("4711", "***")


def test_secrets_are_taken_out_of_texts_keys_and_numbers() -> None:
    assert masked({"hunter2": ["is hunter2", 14711, True, None, 1.5]}, hide) == {
        "***": ["is ***", "1***", True, None, 1.5]
    }


def test_the_secrets_of_a_run_are_never_told_however_short() -> None:
    told = tell_event(1, RunStarted(0.0, "shop", {"secrets": {"PIN": "7"}, "inputs": {}}))

    assert told.fields["inputs"] == {"secrets": {"PIN": "***"}, "inputs": {}}


def test_an_event_without_secrets_is_still_that_event() -> None:
    error = StepError("CommandFailed", "it said hunter2", "a", "Traceback: hunter2")
    finished = StepFinished(2.0, "main", "a", "a", Outcome(Status.FAILED, {"hunter2": 4711}, error))

    assert masked_event(finished, hide) == StepFinished(
        2.0,
        "main",
        "a",
        "a",
        Outcome(Status.FAILED, {"***": "***"}, StepError("CommandFailed", "it said ***", "a", "Traceback: ***")),
    )
    opened = FrameOpened(1.0, "mx[0]", "key=hunter2", "main", "mx")
    assert masked_event(opened, hide) == FrameOpened(1.0, "mx[0]", "key=***", "main", "mx")
    edited = ScopeEdited(1.0, 4711, "main", "a", "a", "before", "run", ("vars", "hunter2"), 4711)
    assert masked_event(edited, hide) == ScopeEdited(
        1.0, 4711, "main", "a", "a", "before", "run", ("vars", "***"), "***"
    )


async def test_the_engine_reads_true_values_and_the_store_has_none_of_them(tmp_path: Path) -> None:
    kept = await FolderStore(tmp_path).create(RunRecord(id="r1", flow="shop", file="flow.yaml", created_at=1.0))
    journal = Journal(kept, hide)
    event = StepFinished(2.0, "main", "a", "a", Outcome(Status.PASSED, {"token": "hunter2"}))

    journal.append(RunStarted(1.0, "shop", {"secrets": {"TOKEN": "hunter2"}}))
    journal.append(event)
    await kept.close()

    assert journal.read(1) == [event]
    assert len(journal) == len(kept.log) == 2
    assert "hunter2" not in (kept.path / "events.jsonl").read_text()


def test_what_was_done_by_hand_is_told_in_words() -> None:
    passed = Outcome(Status.PASSED)
    facts: list[Event] = [
        ScopeEdited(1.0, 1, "main", "tests", "tests", "before", "run", ("vars", "a", 0)),
        StepRetried(1.0, "main", "tests", "tests", by_hand=True),
        StepRetried(1.0, "main", "tests", "tests#2"),
        OutcomeForced(1.0, 1, "main", "last", "last", "force", passed),
        FrameCancelled(1.0, "checks.left", "cancelled by the user"),
        StepInjected(1.0, 1, "main", "last", "before", "last+1", "run", {}),
        ShellOpened(1.0, 1, 1, "main", "tests", "tests", "before", "admin"),
        ShellOpened(1.0, 2, 1, "main", "tests", "tests", "before", "admin"),
        Rewound(1.0, "main", "main", "tests", "before", 3),
        ConfigOverridden(1.0, 1, "main", "tests", "tests", {"script": "make"}),
    ]

    files = tuple(f"repo/{letter}" for letter in "abcdef")
    closed = {2: ShellClosed(1.0, 2, "main", "tests", "before", files, 8)}

    assert [intervention_text(fact, closed) for fact in facts] == [
        "set .vars.a[0] at tests",
        "retried tests",
        None,
        "forced last to passed",
        "cancelled branch checks.left",
        "injected run before last",
        "shell opened at tests",
        "shell opened at tests; changed: a, b, c, d, e and 3 more",
        "rewound to before tests",
        "changed config of tests: script",
    ]
