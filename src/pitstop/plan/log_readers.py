"""Which steps of a plan have their logs read by other steps, as far as the text of the flow shows it."""

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from pitstop.plan.plan import Step

CONTEXT_VARIABLE = "PITSTOP_CONTEXT"
CARD_ACTION = "card:"  # in `on_failure`: the card that it makes has the log
READING_KIND = "agent"  # steps of this kind read the logs of the steps before them without naming them

_LOG = r"""(?xa) (?<! [\w)\]."$] ) \. (?: steps | "steps" | \[ \s* "steps" \s* \] ) \s*
    (?: \. \s* (?: (?P<name> [A-Za-z_][A-Za-z0-9_]* ) | "(?P<text> [^"\\]+ )" )
        | \.? \s* \[ \s* "(?P<key> [^"\\]+ )" \s* \]
    )
    \s* (?: \. \s* (?: log\b | "log" ) | \.? \s* \[ \s* "log" \s* \] )
"""


def with_log_readers(root: Step, texts: Iterable[str], env: Mapping[str, object]) -> Step:
    """The step, with every step under it marked whose log is read. `texts` are the files of the flow, `env` its own."""
    if not any(
        "log" in text or CONTEXT_VARIABLE in text or READING_KIND in text or CARD_ACTION in text for text in texts
    ):
        return root
    written = [*_texts_in(env)]
    fills_context = False
    for step in root.walk():
        written += _texts_in((step.config, step.env, step.condition))
        fills_context = fills_context or step.kind == READING_KIND
    fills_context = fills_context or any(CONTEXT_VARIABLE in text for text in written)
    ids = frozenset(name for text in written for name in logs_read_by(text))
    return _marked(root, ids, fills_context=fills_context) if ids or fills_context else root


def logs_read_by(expression: str) -> Iterator[str]:
    """The ids of the steps whose log the expression reads, as `.steps.ID.log` or `.steps["ID"].log`."""
    if "log" in expression:
        for found in re.finditer(_LOG, expression):
            yield found["name"] or found["text"] or found["key"]


def _texts_in(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for child in value.values():
                yield from _texts_in(child)
        case list() | tuple():
            for child in value:
                yield from _texts_in(child)


def _marked(step: Step, ids: frozenset[str], *, fills_context: bool) -> Step:
    return replace(
        step,
        children=tuple(_marked(child, ids, fills_context=fills_context) for child in step.children),
        cleanup=tuple(_marked(child, ids, fills_context=fills_context) for child in step.cleanup),
        is_log_read=step.is_log_read or step.id in ids,
        fills_context=fills_context,
    )
