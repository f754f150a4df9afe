"""A trial and what is asked for it, as plain values."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from pitstop.git.names import HIDDEN
from pitstop.platform.live_state import Live
from pitstop.platform.lives import TrialState

KEPT = f"{HIDDEN}trials/"  # the refs that store the results of trials
SAVED = "agent-test/"  # what the names of branches begin with that results are saved to

Input = Literal["branch", "file", "text"]


class TrialSettings(Struct, frozen=True, kw_only=True):
    """How an agent is tried. Its result is saved as `save`, if that is a name; with `debug` it pauses at tool calls.

    `input` is what it works on: all files at `ref`, with only the file at `path` to be changed, or no files at all.
    """

    ref: str | None = None
    budget: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    save: str | None = None
    debug: bool = False
    input: Input = "branch"
    path: str | None = None


class NewTrial(Struct, frozen=True, kw_only=True):
    """A prompt to be tried with one to four agents, each in a trial of its own. A `group` is created only once."""

    repo: str | None
    profiles: tuple[str, ...]
    prompt: str
    settings: TrialSettings = TrialSettings()
    group: str | None = None


class TrialInfo(Struct, frozen=True, kw_only=True):
    """A trial. The agent began with the commit `sha`; `to_sha` has its changes, and is None if there are none.

    `ref` is the branch or tag of that commit, and `branch` the one that the result was last saved to. Trials that were
    created together are a `group`.
    """

    id: str
    repo: str
    group: str
    profile: str
    prompt: str
    settings: TrialSettings
    sha: str
    run: str
    by: str
    created_at: float
    ref: str | None = None
    state: TrialState = "queued"
    reason: str | None = None
    to_sha: str | None = None
    branch: str | None = None
    live: Live = Live()
    started_at: float | None = None
    ended_at: float | None = None


class TrialRecord(TrialInfo, frozen=True, kw_only=True):
    """A trial as it is stored: `text` is the flow of its run, and `firing` what starts that."""

    text: str
    firing: int = 0

    @property
    def kept(self) -> str:
        """The ref that stores its result."""
        return f"{KEPT}{self.id}"

    @property
    def result(self) -> str:
        """The commit that it ended with."""
        return self.to_sha or self.sha
