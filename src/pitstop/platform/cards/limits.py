"""How large a card and its notes may be."""

from pitstop.errors import BadCard
from pitstop.git.names import is_branch_name
from pitstop.platform.cards.card_info import NewCard
from pitstop.platform.cards.card_values import Work

LONGEST_TITLE = 200
LONGEST_TEXT = 100_000
LONGEST_PROMPT = 500_000  # of an attempt, with the notes
LONGEST_LABEL = 50
MOST_LABELS = 20
MOST_NOTES = 1_000  # on a card
MOST_ATTEMPTS = 500
COMMIT_BYTES = 256 * 1024 * 1024  # what one attempt may add to a repository


def check_card(card: NewCard) -> NewCard:
    """The card with a clean title. BadCard."""
    title = card.title.strip()
    if not title or "\n" in title or not title.isprintable():
        raise BadCard("the title of a card is one line of printable characters")
    if len(title) > LONGEST_TITLE:
        raise BadCard(
            f"the title has {len(title):,} characters, but at most {LONGEST_TITLE} are allowed: "
            "put the rest into the description"
        )
    check_text(card.description, "the description")
    check_work(card.work)
    check_labels(card.labels)
    if card.base is not None and not is_branch_name(card.base):
        raise BadCard(f"invalid base {card.base!r}: git accepts no branch with that name")
    return NewCard(
        title=title,
        description=card.description,
        work=card.work,
        base=card.base,
        labels=tuple(dict.fromkeys(card.labels)),
        start=card.start,
    )


def check_labels(labels: tuple[str, ...]) -> None:
    """BadCard."""
    if len(labels) > MOST_LABELS:
        raise BadCard(f"{len(labels)} labels are too many: use at most {MOST_LABELS}")
    for label in labels:
        if not label.strip() or len(label) > LONGEST_LABEL or not label.isprintable():
            raise BadCard(f"a label has 1 to {LONGEST_LABEL} printable characters")


def check_text(text: str, what: str) -> str:
    """BadCard for a text that is too long."""
    if len(text) > LONGEST_TEXT:
        raise BadCard(f"{what} has {len(text):,} characters, but at most {LONGEST_TEXT:,} are allowed")
    return text


def check_work(work: Work) -> Work:
    """BadCard for work that is not one thing, or has what it cannot use."""
    kinds = [name for name in ("agent", "run", "flow") if getattr(work, name) is not None]
    if len(kinds) > 1:
        raise BadCard(f"the work has {' and '.join(kinds)}: use one of agent, run and flow")
    if work.run is not None and not work.run.strip():
        raise BadCard("the script is empty: write one, or use work by hand")
    for name, wanted in (("prompt", "agent"), ("cli", "agent"), ("model", "agent"), ("budget", "agent")):
        if getattr(work, name) and work.kind != wanted:
            raise BadCard(f"`{name}` is only for an agent")
    if work.inputs and work.kind != "flow":
        raise BadCard("`inputs` are only for a flow")
    if work.image is not None and work.kind not in ("agent", "run"):
        raise BadCard("`image` is only for an agent or a script")
    check_text(work.prompt, "the prompt")
    check_text(work.run or "", "the script")
    return work
