"""What an agent may use, and what it has used."""

import msgspec
from msgspec import Struct

from pitstop.steps.agents.failures import passed_budget
from pitstop.steps.agents.reports import Called, Finished, Report, Returned, Said, Tokens


class Budget(Struct, frozen=True, kw_only=True):
    """Limits; None is none."""

    cost: float | None = None
    turns: int | None = None
    time: float | None = None
    lines: int | None = None
    tokens: int | None = None


class Spent(Struct):
    """What the agent has used so far. A turn is an answer of the model; its tool results begin the next one."""

    turns: int = 0
    cost: float | None = None
    tokens: Tokens | None = None
    is_between_turns: bool = True

    def take(self, report: Report) -> None:
        match report:
            case Said() | Called():
                self.turns += self.is_between_turns
                self.is_between_turns = False
            case Returned():
                self.is_between_turns = True
            case Finished():
                self.turns = report.turns or self.turns
                self.cost = report.cost if report.cost is not None else self.cost
                self.tokens = report.tokens or self.tokens
            case _:
                pass

    def check(self, budget: Budget) -> None:
        """BudgetExceeded for the first limit that was passed."""
        if budget.turns is not None and self.turns > budget.turns:
            raise passed_budget("turns", f"{self.turns} turns", str(budget.turns), self.as_outputs())
        if budget.cost is not None and self.cost is not None and self.cost > budget.cost:
            raise passed_budget("cost", f"{self.cost:.2f} USD", f"{budget.cost:.2f} USD", self.as_outputs())
        total = 0 if self.tokens is None else self.tokens.input + self.tokens.output
        if budget.tokens is not None and total > budget.tokens:
            raise passed_budget("tokens", f"{total} tokens", str(budget.tokens), self.as_outputs())

    def as_outputs(self) -> dict[str, object]:
        tokens = None if self.tokens is None else msgspec.to_builtins(self.tokens)
        return {"turns": self.turns, "cost": self.cost, "tokens": tokens}
