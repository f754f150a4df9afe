"""The desk for the feed: what happens on a server, as it happens."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from pitstop.errors import BadRequest
from pitstop.platform.cards.card_values import repo_of
from pitstop.platform.feed_values import REPOS, RUNS, TRIALS, News
from pitstop.platform.repo_values import check_repo_name
from pitstop.service.caller import Caller

__all__ = ["RUNS", "FeedDesk", "News", "check_topics"]

MOST_TOPICS = 50


class FeedDesk(Protocol):
    """What happens to runs, repositories, cards and trials. Anyone may follow it."""

    def follow(self, caller: Caller, topics: Sequence[str], after: int | None = None) -> AsyncIterator[News | None]:
        """All news of some topics, such as `runs` or `card:<id>`: above a number, or from now on.

        It never ends, and yields None after each second in which nothing happened.
        """
        ...


def check_topics(topics: Sequence[str]) -> None:
    """BadRequest for a topic that does not exist, or too many."""
    if not topics or len(topics) > MOST_TOPICS:
        raise BadRequest(f"follow 1 to {MOST_TOPICS} topics: runs, repos, trials, repo:<name> or card:<id>")
    for topic in topics:
        name, _, named = topic.partition(":")
        if name in ("repo", "card"):
            check_repo_name(named if name == "repo" else repo_of(named))
        elif topic not in (RUNS, REPOS, TRIALS):
            raise BadRequest(f"there is no topic {topic!r}: use runs, repos, trials, repo:<name> or card:<id>")
