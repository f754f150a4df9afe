"""What the feed tells, as plain values."""

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

RUNS = "runs"  # the topic of all runs
REPOS = "repos"  # that of all repositories: which there are, and where they are
TRIALS = "trials"  # that of the trials of all repositories
PUSHED = "push.received"
REPORTED = "tests.reported"  # the reports of a run are stored


class News(Struct, frozen=True):
    """Something that happened. Its topic is `runs`, or that of a repository: `repo:<id>`.

    What happens to a card is of the topic `card:<id>`, too, and what happens to a trial of the topic `trials`.
    """

    id: int
    at: float
    topic: str
    kind: str
    body: Mapping[str, Any]

    def is_of(self, topics: Collection[str]) -> bool:
        """Whether it belongs to one of the topics; a run belongs to that of its repository, too."""
        if f"card:{self.body.get('card')}" in topics:
            return True
        if TRIALS in topics and self.kind.startswith("trial."):
            return True
        is_of_repos = self.kind.startswith("repo.") or self.kind == PUSHED
        if self.topic in topics or (REPOS in topics and is_of_repos):
            return True
        return self.topic == RUNS and f"repo:{self.body.get('repo')}" in topics
