"""Everything that the platform stores, in one database."""

from msgspec import Struct

from pitstop.platform.stored.feed import StoredFeed
from pitstop.platform.stored.firings import StoredFirings
from pitstop.platform.stored.hooks import StoredHooks
from pitstop.platform.stored.pushes import StoredPushes
from pitstop.platform.stored.repos import StoredRepos
from pitstop.platform.stored.schedules import StoredSchedules
from pitstop.platform.stored.test_reports import StoredTestReports
from pitstop.store.sql.database import Database


class Stored(Struct, frozen=True):
    """The rows of the platform."""

    repos: StoredRepos
    firings: StoredFirings
    pushes: StoredPushes
    feed: StoredFeed
    schedules: StoredSchedules
    hooks: StoredHooks
    tests: StoredTestReports


def stored_in(database: Database) -> Stored:
    firings = StoredFirings(database)
    return Stored(
        StoredRepos(database),
        firings,
        StoredPushes(database, firings),
        StoredFeed(database),
        StoredSchedules(database, firings),
        StoredHooks(database, firings),
        StoredTestReports(database),
    )
