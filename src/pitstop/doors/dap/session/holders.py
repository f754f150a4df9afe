"""Values with others in them, as the numbers that clients are told stand for."""

from typing import Any

from msgspec import Struct

from pitstop.doors.dap.protocol.messages import PresentationHint, Variable
from pitstop.doors.dap.session import values
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.service.debugging import Debugger, VariableInfo, verbs
from pitstop.service.runs import type_name

MOST_AT_ONCE = 1000  # children that a client is told which does not ask for pages


class PathHolder(Struct, frozen=True):
    """A value that the debugger has, by its jq path. `first` leaves those before it out."""

    adapter: Adapter
    debugger: Debugger
    stop: int
    path: str
    kind: str
    size: int
    first: int = 0

    async def children(self, start: int, count: int | None) -> list[Variable]:
        start += self.first
        page = await self.debugger.say(verbs.Variables(self.stop, self.path, cursor=start, limit=count or MOST_AT_ONCE))
        shown = [self._tell(each) for each in page.variables]
        if count is None and page.next is not None:
            rest = PathHolder(self.adapter, self.debugger, self.stop, self.path, self.kind, self.size, page.next)
            shown.append(values.more(page.total - page.next, self.adapter.editor.references.number_holder(rest)))
        return shown

    def child(self, variable: VariableInfo) -> "PathHolder":
        return PathHolder(self.adapter, self.debugger, self.stop, variable.path, variable.type, variable.size or 0)

    def _tell(self, variable: VariableInfo) -> Variable:
        editor = self.adapter.editor
        return Variable(
            name=variable.name,
            value=variable.preview,
            type=variable.type if editor.client.shows_types else None,
            evaluate_name=variable.path,
            variables_reference=editor.references.number_holder(self.child(variable)) if variable.size else 0,
            named_variables=values.named(variable.type, variable.size),
            indexed_variables=values.indexed(variable.type, variable.size),
        )


class ValueHolder(Struct, frozen=True):
    """A value as it was when it was told. It is kept for a while, or, with a stop, as long as that lasts."""

    adapter: Adapter
    value: Any
    stop: int | None = None
    path: str | None = None  # where it is, if it can be set
    first: int = 0

    @property
    def kind(self) -> str:
        return type_name(self.value)

    @property
    def size(self) -> int | None:
        return values.size_of(self.value)

    async def children(self, start: int, count: int | None) -> list[Variable]:
        children, start = values.children_of(self.value), start + self.first
        end = start + (count or MOST_AT_ONCE)
        shown = [self._tell(name, child) for name, child in children[start:end]]
        if count is None and end < len(children):
            rest = ValueHolder(self.adapter, self.value, self.stop, self.path, end)
            shown.append(values.more(len(children) - end, self.adapter.editor.references.number_holder(rest)))
        return shown

    def _tell(self, name: str, child: Any) -> Variable:
        path = None if self.path is None else values.child_path(self.path, name, is_array=self.kind == "array")
        return tell_value(self.adapter, name, child, self.stop, path, is_read_only=path is None)


def tell_value(
    adapter: Adapter, name: str, value: Any, stop: int | None, path: str | None = None, *, is_read_only: bool = False
) -> Variable:
    size, kind = values.size_of(value), type_name(value)
    reference = adapter.editor.references.number_holder(ValueHolder(adapter, value, stop, path)) if size else 0
    return Variable(
        name=name,
        value=values.preview(value),
        type=kind if adapter.editor.client.shows_types else None,
        presentation_hint=PresentationHint(attributes=("readOnly",)) if is_read_only else None,
        evaluate_name=path,
        variables_reference=reference,
        named_variables=values.named(kind, size),
        indexed_variables=values.indexed(kind, size),
    )
