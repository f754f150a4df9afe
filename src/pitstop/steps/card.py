"""`card`: a run makes a card on the board of its repository, or starts one."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from pitstop.engine.frame import Activation
from pitstop.errors import BadRequest, CommandRefused, GitProblem, NeedsServer, Unknown
from pitstop.steps.config import read_config
from pitstop.steps.failures import CardFailed
from pitstop.steps.fields import StepConfig
from pitstop.steps.workplace import Workplace


class CardStepConfig(StepConfig):
    title: str | None = Field(None, description="Title of the card to make.", min_length=1)
    description: str = Field("", description="What the card is about.")
    agent: str | None = Field(None, description="Profile of the agent that is to do the work.", min_length=1)
    labels: list[str] = Field([], description="Labels of the card.", max_length=20)
    begin: bool = Field(False, description="Whether the work begins at once.")
    start: str | None = Field(
        None, description="A card to start, such as `shop-3`, instead of making one.", min_length=1
    )

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        if (self.title is None) == (self.start is None):
            raise ValueError("needs either `title` or `start`")
        return self


class CardStep:
    """Outputs: the ID of the card (`card`), and the run of a card that was started (`run`).

    It needs a run of a repository on a server.
    """

    name: ClassVar[str] = "card"
    summary: ClassVar[str] = "Make a card on the board, or start one."
    shorthand_field: ClassVar[str | None] = "title"
    Config: ClassVar[type[CardStepConfig]] = CardStepConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        workplace = self._workplace
        given = read_config(self.name, CardStepConfig, config, workplace.mask)
        if workplace.workshop is None:
            raise CardFailed(str(NeedsServer("`card`")))
        try:
            if given.start is not None:
                done = await workplace.workshop.start_card(given.start)
            else:
                options = {"agent": given.agent, "labels": tuple(given.labels), "start": given.begin}
                text = workplace.mask(given.description)
                done = await workplace.workshop.make_card(workplace.mask(given.title or ""), text, options)
        except (BadRequest, CommandRefused, Unknown, GitProblem) as error:
            raise CardFailed(str(error)) from error
        verb = "started" if given.start is not None else "made"
        workplace.tell(activation, f"{verb} card {done['card']}")
        return dict(done)
