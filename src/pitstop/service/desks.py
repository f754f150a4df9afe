"""What a door can ask for: a desk for each subject, whose values are no richer than JSON and have no secret in them."""

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:  # a door loads the desks that it uses
    from pitstop.service.access import Access
    from pitstop.service.agents import Agents
    from pitstop.service.attaching import Attaching
    from pitstop.service.audit import Audit
    from pitstop.service.cards import Cards
    from pitstop.service.debugging import Debugging
    from pitstop.service.feed import FeedDesk
    from pitstop.service.flows import Flows
    from pitstop.service.hooks import Hooks, HookServer
    from pitstop.service.playground import Playground
    from pitstop.service.repos import GitServer, Repos, Triggers
    from pitstop.service.runs import Runs
    from pitstop.service.secrets import Secrets
    from pitstop.service.test_history import TestHistory
    from pitstop.service.workspaces import Workspaces


class Service(Struct, frozen=True, kw_only=True):
    """Everything that a caller can do, whatever door they come through. Some desks are only on a server.

    Each call names its caller, and the desk decides whether they may do that. Runs of a service in this process end
    with it; those of a server do not.
    """

    flows: "Flows"
    runs: "Runs"
    debugging: "Debugging"
    workspaces: "Workspaces"
    access: "Access | None" = None
    secrets: "Secrets | None" = None
    audit: "Audit | None" = None
    repos: "Repos | None" = None
    triggers: "Triggers | None" = None
    git: "GitServer | None" = None
    cards: "Cards | None" = None
    playground: "Playground | None" = None
    feed: "FeedDesk | None" = None
    hooks: "Hooks | None" = None
    test_history: "TestHistory | None" = None
    deliveries: "HookServer | None" = None
    attaching: "Attaching | None" = None  # of the service in a process of its own
    agents: "Agents | None" = None  # of the machine that such a process is on
