"""Everything that the platform stores, in one database."""

from msgspec import Struct

from pitstop.platform.stored.attempts import StoredAttempts, StoredNotes
from pitstop.platform.stored.card_steps import CardSteps
from pitstop.platform.stored.cards import StoredCards
from pitstop.platform.stored.feed import StoredFeed
from pitstop.platform.stored.firings import StoredFirings
from pitstop.platform.stored.hooks import StoredHooks
from pitstop.platform.stored.pushes import StoredPushes
from pitstop.platform.stored.repos import StoredRepos
from pitstop.platform.stored.run_logs import RunLogs
from pitstop.platform.stored.schedules import StoredSchedules
from pitstop.platform.stored.test_reports import StoredTestReports
from pitstop.platform.stored.trials import StoredTrials
from pitstop.store.sql.database import Database
from pitstop.store.sql.news import News


class Stored(Struct, frozen=True):
    """The rows of the platform."""

    repos: StoredRepos
    firings: StoredFirings
    pushes: StoredPushes
    feed: StoredFeed
    schedules: StoredSchedules
    hooks: StoredHooks
    tests: StoredTestReports
    cards: StoredCards
    attempts: StoredAttempts
    notes: StoredNotes
    trials: StoredTrials
    card_steps: CardSteps
    run_logs: RunLogs


def stored_in(database: Database, news: News) -> Stored:
    firings = StoredFirings(database)
    cards = StoredCards(database)
    attempts, notes = StoredAttempts(database, cards), StoredNotes(database, cards)
    return Stored(
        StoredRepos(database),
        firings,
        StoredPushes(database, firings),
        StoredFeed(database),
        StoredSchedules(database, firings),
        StoredHooks(database, firings),
        StoredTestReports(database),
        cards,
        attempts,
        notes,
        StoredTrials(database, firings),
        CardSteps(cards, attempts, notes, firings),
        RunLogs(database, news),
    )
