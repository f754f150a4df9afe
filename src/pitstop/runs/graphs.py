"""Graphs that users have written in Python: found in their code, and planned like any flow."""

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from pitstop.definition.flow import Flow
from pitstop.definition.graph import GraphDefinition
from pitstop.definition.values import Source
from pitstop.engine.ports import StepType
from pitstop.errors import BadFlow, BadGraph, Mistake
from pitstop.plan.graph_planner import plan_graph
from pitstop.plan.plan import Plan
from pitstop.runs.graph_targets import GraphTarget
from pitstop.runs.planned_flow import PlannedFlow
from pitstop.steps.node import NodeStep
from pitstop.steps.registry import StepTypes
from pitstop.steps.workplace import Workplace

Stamps = dict[str, tuple[int, int]]

# Each graph with the files behind it as they were imported; of the process, as modules are
_planned: dict[str, tuple[PlannedFlow, Stamps]] = {}


class GraphTypes(StepTypes):
    """The types of steps that the run of a graph has: its nodes, and those of flows, which can be put in."""

    def for_run(self, workplace: Workplace, names: Iterable[str]) -> Mapping[str, StepType]:
        others = super().for_run(workplace, [name for name in names if name != NodeStep.name])
        return {**others, NodeStep.name: NodeStep(workplace)}


def plan_target(target: GraphTarget) -> PlannedFlow:
    """The plan of a graph; BadFlow, with the place in the code that keeps it from being one.

    One whose files are as they were is not imported again; if one has changed, all of them are.
    """
    name = str(target)
    if name in _planned:
        planned, stamps = _planned[name]
        if _stamps(map(Path, stamps)) == stamps:
            return planned
        _forget_modules(stamps)
        del _planned[name]
    planned = _import(target)
    _planned[name] = planned, _stamps(_own_files(target.folder))
    return planned


def _import(target: GraphTarget) -> PlannedFlow:
    module = _module_of(target)
    file = getattr(module, "__file__", None) or str(target)
    try:
        definition, plan = _graph_in(target, module)
    except BadGraph as error:
        raise BadFlow([Mistake(file, 1, 1, mistake) for mistake in error.mistakes]) from error
    sources = (step.source.file for step in plan.steps.values() if step.source is not None)
    texts = {each: text for each in (file, *sources) if (text := _text_of(each)) is not None}
    end = texts.get(file, "").count("\n") + 1
    flow = Flow(name=definition.name, source=Source(file, 1, 1, end), steps=(), texts=texts)
    return PlannedFlow(flow, plan, GraphTypes(), texts, target)


def _module_of(target: GraphTarget) -> ModuleType:
    folder = str(target.folder)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # and it stays there, for code imports more when it runs
    importlib.invalidate_caches()
    try:
        return importlib.import_module(target.module) if target.file is None else _module_in(target.file)
    except (Exception, SystemExit) as error:  # the code of a user
        raise BadFlow(_why_not_imported(target, error)) from error


def _module_in(file: Path) -> ModuleType:
    """The module of a file, under the name that others import it by, unless that is taken."""
    name, path = file.stem, str(file)
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == path:
        return known
    spec = importlib.util.spec_from_file_location(name if known is None else f"graph_in_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _why_not_imported(target: GraphTarget, error: BaseException) -> list[Mistake]:
    """Where in the user's own code it went wrong, if it came that far."""
    named = str(target.folder / target.module)
    if isinstance(error, FileNotFoundError) and error.filename == named:
        return [Mistake(named, 1, 1, f"cannot read the file: {error.strerror}")]
    if isinstance(error, ModuleNotFoundError) and error.name == target.module.partition(".")[0]:
        return [Mistake(str(target), 1, 1, f"there is no module {error.name!r} in {target.folder}, nor installed")]
    if isinstance(error, SyntaxError) and error.filename is not None:
        told = f"SyntaxError: {error.msg}"
        return [Mistake(error.filename, error.lineno or 1, error.offset or 1, told, error.text or "")]
    reasons = error.mistakes if isinstance(error, BadGraph) else (f"{type(error).__name__}: {error}",)
    own = [at for at in traceback.extract_tb(error.__traceback__) if _is_own(Path(at.filename), target.folder)]
    file, line, text = (own[-1].filename, own[-1].lineno or 1, own[-1].line or "") if own else (named, 1, "")
    return [Mistake(file, line, 1, reason, text) for reason in reasons]


def _graph_in(target: GraphTarget, module: ModuleType) -> tuple[GraphDefinition, Plan]:
    found: Any = module
    for part in target.name.split("."):
        if not hasattr(found, part):
            raise BadFlow([Mistake(str(target), 1, 1, f"there is no {target.name!r}{_hint(target.name, module)}")])
        found = getattr(found, part)
    if _definition_of(found) is None and _takes_nothing(found):
        found = _made_by(target, found)
    definition = _definition_of(found)
    if definition is None:
        reason = f"{target.name} has type {type(found).__name__}: use a graph, or a function that returns one"
        raise BadFlow([Mistake(str(target), 1, 1, reason + _hint(target.name, module))])
    plan = getattr(found, "plan", None)
    return definition, plan if isinstance(plan, Plan) else plan_graph(definition)


def _definition_of(found: Any) -> GraphDefinition | None:
    definition = found if isinstance(found, GraphDefinition) else getattr(found, "definition", None)
    return definition if isinstance(definition, GraphDefinition) else None


def _takes_nothing(found: Any) -> bool:
    if not inspect.isfunction(found):
        return False
    parameters = inspect.signature(found).parameters.values()
    return all(
        each.default is not each.empty or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters
    )


def _made_by(target: GraphTarget, make: Any) -> Any:
    try:
        return make()
    except (Exception, SystemExit) as error:  # the code of a user
        raise BadFlow(_why_not_imported(target, error)) from error


def _hint(name: str, module: ModuleType) -> str:
    graphs = [each for each, value in vars(module).items() if _definition_of(value) is not None]
    near = get_close_matches(name, graphs, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; available: {', '.join(graphs)}" if graphs else ""


# --- Files -----------------------------------------------------------------------------------------------------------


def _text_of(file: str) -> str | None:
    with suppress(OSError, ValueError):
        return Path(file).read_text(encoding="utf-8")
    return None


def _own_files(folder: Path) -> Iterator[Path]:
    """The files of the modules that were imported from a folder, and are nobody's package."""
    for module in [*sys.modules.values()]:
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and _is_own(Path(file), folder):
            yield Path(file)


def _is_own(file: Path, folder: Path) -> bool:
    return file.is_relative_to(folder) and "site-packages" not in file.parts and not file.is_relative_to(_OURS)


_OURS = Path(__file__).parents[1]  # Pitstop itself, where somebody works on it


def _stamps(files: Iterable[Path]) -> Stamps:
    found: Stamps = {}
    for file in files:
        with suppress(OSError):
            about = file.stat()
            found[str(file)] = (about.st_mtime_ns, about.st_size)
    return found


def _forget_modules(stamps: Stamps) -> None:
    """Also what Python has kept of them: to it, a file of the same second and size is the same."""
    for file in stamps:
        with suppress(OSError, NotImplementedError):
            Path(importlib.util.cache_from_source(file)).unlink(missing_ok=True)
    for name, module in [*sys.modules.items()]:
        if getattr(module, "__file__", None) in stamps and name != "__main__":
            del sys.modules[name]
