"""What requests for trials may say over HTTP, strictly: a typo is an error and not a default."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pitstop.service.card_forms import LONGEST_TITLE, CardText
from pitstop.service.playground import Input, NewTrial, TrialSettings
from pitstop.service.wire import Form, Name, PathText, RepoName, Text

SaveName = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9-]{0,39}$", examples=["shorter-prompt"])]
Profile = Annotated[Name, Field(max_length=64, examples=["claude"])]


class NewTrialForm(Form):
    repo: RepoName | None = None
    ref: Text | None = Field(None, description="A branch, tag or commit; the default branch if omitted.")
    profiles: Annotated[list[Profile], Field(min_length=1, max_length=4)] = Field(
        description="The agents to try the prompt with, in a trial each."
    )
    prompt: Annotated[CardText, Field(min_length=1)]
    budget: Annotated[dict[Literal["cost", "turns", "time", "lines", "tokens"], Any], Field(max_length=5)] = Field(
        default_factory=dict, description="Limits of each agent, such as `{cost: 2.0, time: 20m}`."
    )
    model: Name | None = None
    save: SaveName | None = Field(None, description="Save what changes to a branch `agent-test/<save>-NNN`.")
    debug: bool = Field(False, description="Pause at each tool call.")
    input: Input = Field(
        "branch", description="`branch`: all files; `file`: only the file at `path` may change; `text`: no files."
    )
    path: PathText | None = None

    def to_request(self) -> NewTrial:
        settings = {name: value for name, value in dict(self).items() if name in TrialSettings.__struct_fields__}
        return NewTrial(
            repo=self.repo, profiles=tuple(self.profiles), prompt=self.prompt, settings=TrialSettings(**settings)
        )


class SaveForm(Form):
    name: SaveName


class CardOfTrialForm(Form):
    title: Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE)] = Field(description="One line.")
