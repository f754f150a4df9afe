"""The desk for the feed: what happens on a server, as it happens."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from pitstop.errors import BadRequest
from pitstop.platform.feed_values import REPOS, RUNS, News
from pitstop.platform.repo_values import check_repo_name
from pitstop.service.caller import Caller

__all__ = ["RUNS", "FeedDesk", "News", "check_topics"]

MOST_TOPICS = 50


class FeedDesk(Protocol):
    """What happens to runs and repositories. Anyone may follow it."""

    def follow(self, caller: Caller, topics: Sequence[str], after: int | None = None) -> AsyncIterator[News | None]:
        """All news of some topics (`runs`, `repos`, `repo:<id>`): above a number, or from now on.

        It never ends, and yields None after each second in which nothing happened.
        """
        ...


def check_topics(topics: Sequence[str]) -> None:
    """BadRequest for a topic that does not exist, or too many."""
    if not topics or len(topics) > MOST_TOPICS:
        raise BadRequest(f"follow 1 to {MOST_TOPICS} topics: runs, repos, or repo:<name>")
    for topic in topics:
        name, _, repo = topic.partition(":")
        if name == "repo":
            check_repo_name(repo)
        elif topic not in (RUNS, REPOS):
            raise BadRequest(f"there is no topic {topic!r}: use runs, repos, or repo:<name>")
