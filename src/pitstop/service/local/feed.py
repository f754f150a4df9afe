"""The desk for the feed, over the workshop of this server."""

from collections.abc import AsyncIterator, Sequence

from pitstop.platform.workshop import Workshop
from pitstop.service.caller import Caller
from pitstop.service.feed import News, check_topics


class FollowedFeed:
    """The FeedDesk of this server."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    def follow(self, caller: Caller, topics: Sequence[str], after: int | None = None) -> AsyncIterator[News | None]:
        check_topics(topics)
        return self._workshop.feed.follow(frozenset(topics), after)
