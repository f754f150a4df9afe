"""A step as a place that a breakpoint can be at."""

from pitstop.doors.dap.protocol.messages import Breakpoint
from pitstop.doors.dap.session.client import Client
from pitstop.doors.dap.session.sources import Sources
from pitstop.service.api import StepInfo


def tell_place(client: Client, sources: Sources, step: StepInfo) -> Breakpoint:
    """A breakpoint at a step, which is where it begins."""
    file = step.file
    if file is None or step.line is None:
        return Breakpoint(verified=True)
    end_line = step.end_line or step.line
    return Breakpoint(
        verified=True,
        source=sources.tell(file, client),
        line=client.line_out(step.line),
        column=client.column_out(step.column or 1),
        end_line=client.line_out(end_line),
        end_column=client.column_out(sources.end_column(file, end_line)),
    )
