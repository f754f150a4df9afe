"""What requests for cards may say over HTTP, strictly: a typo is an error and not a default."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pitstop.service.cards import (
    Approval,
    CardChanges,
    CardMove,
    CardStatus,
    Method,
    NewCard,
    NewNote,
    Rejection,
    Side,
    StartCard,
    Work,
)
from pitstop.service.wire import Form, LongText, Name, PathText, Sha, Text, Values

LONGEST_TITLE = 200

CardText = Annotated[LongText, Field(max_length=100_000)]
Label = Annotated[Name, Field(max_length=50)]
Labels = Annotated[list[Label], Field(max_length=20)]
AnyCardId = Annotated[Text, Field(max_length=90)]


class WorkForm(Form):
    """One of `agent`, `run` and `flow`, or none of them for work that people do."""

    agent: Annotated[Name, Field(max_length=64)] | None = Field(None, description="The profile of an agent.")
    prompt: CardText = Field("", description="What to tell the agent in addition to the title and the description.")
    cli: Name | None = Field(None, description="The agent that a profile of the repository runs on.")
    model: Name | None = None
    budget: Annotated[dict[Literal["cost", "turns", "time", "lines", "tokens"], Any], Field(max_length=5)] = Field(
        default_factory=dict, description="Limits of the agent, such as `{cost: 2.0, time: 20m}`."
    )
    run: CardText | None = Field(None, description="A script.")
    image: Text | None = Field(None, description="The container image for the agent or the script.")
    flow: PathText | None = Field(None, description="A flow of the repository.")
    inputs: Values = Field(default_factory=dict, description="Inputs of the flow.")

    @model_validator(mode="after")
    def _is_one(self) -> "WorkForm":
        if sum(each is not None for each in (self.agent, self.run, self.flow)) > 1:
            raise ValueError("use one of `agent`, `run` and `flow`")
        return self

    def to_value(self) -> Work:
        return Work(**dict(self))


class NewCardForm(Form):
    title: Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE)] = Field(description="One line.")
    description: CardText = ""
    work: WorkForm = Field(default_factory=WorkForm)
    base: Name | None = Field(None, description="The branch to start from and to merge into; the default branch.")
    labels: Labels = Field(default_factory=list)
    start: bool = Field(False, description="Start the work at once.")

    def to_request(self) -> NewCard:
        return NewCard(**{**dict(self), "work": self.work.to_value(), "labels": tuple(self.labels)})


class CardChangesForm(Form):
    title: Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE)] | None = None
    description: CardText | None = None
    work: WorkForm | None = None
    base: Name | None = None
    labels: Labels | None = None

    def to_request(self) -> CardChanges:
        work = None if self.work is None else self.work.to_value()
        labels = None if self.labels is None else tuple(self.labels)
        return CardChanges(**{**dict(self), "work": work, "labels": labels})


class CardMoveForm(Form):
    status: CardStatus
    after: AnyCardId | None = Field(None, description="The card to put it behind; first in the column if omitted.")
    to_end: bool = Field(False, description="Put it at the end of the column.")

    def to_request(self) -> CardMove:
        return CardMove(**dict(self))


class StartCardForm(Form):
    guidance: CardText = ""
    start_from: Literal["head", "base"] | Annotated[int, Field(ge=1, lt=2**31)] = Field(
        "head", description="`head` continues on the branch, `base` begins anew, and a number continues that attempt."
    )
    profile: Annotated[Name, Field(max_length=64)] | None = Field(None, description="Another agent than the card has.")
    debug: bool = Field(False, description="Pause at the first tool call, or the first step.")

    def to_request(self) -> StartCard:
        return StartCard(**dict(self))


class ApprovalForm(Form):
    expect: Sha | None = Field(None, description="The commit that was reviewed; 409 if the branch is at another.")
    method: Method = "merge"
    message: CardText = ""
    keep_open: bool = False

    def to_request(self) -> Approval:
        return Approval(**dict(self))


class UpdateBranchForm(Form):
    by_hand: bool = Field(False, description="Resolve conflicts by hand in a paused run, and not by the agent.")


class RejectionForm(Form):
    reason: CardText = ""
    keep_branch: bool = True

    def to_request(self) -> Rejection:
        return Rejection(**dict(self))


class NewNoteForm(Form):
    text: Annotated[CardText, Field(min_length=1)]
    file: PathText | None = None
    line: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    side: Side = "new"
    sha: Sha | None = None

    @model_validator(mode="after")
    def _has_a_place(self) -> "NewNoteForm":
        if (self.file is None) != (self.line is None):
            raise ValueError("a note on a line needs `file` and `line`")
        return self

    def to_request(self) -> NewNote:
        return NewNote(**dict(self))


class ResolvedForm(Form):
    resolved: bool
