"""How large the things may be that a user makes. The table is in docs/reference/limits.md."""

from msgspec import Struct

FLOW_BYTES = 4 * 1024 * 1024  # of all files of a flow together
VALUE_LEVELS = 100
STEP_LEVELS = 50  # a step in a step is a few frames of Python each, and those have a limit too
VARIABLES = 10_000  # in one of `vars`, `inputs`, `env` and `outputs`
NAME_CHARACTERS = 200
RETRIES = 10_000  # of one step
ARTIFACT_PATH_CHARACTERS = 1_000


class Limits(Struct, frozen=True, kw_only=True):
    """The limits that are settings: `PITSTOP_MATRIX_LIMIT` and so on."""

    matrix_limit: int = 1_000  # combinations
    step_limit: int = 10_000  # in a flow, with those that it calls
    value_limit: int = 100_000  # in a flow with what it includes, each alias replaced by what it stands for
    frame_limit: int = 10_000  # of a run that are open at the same time
    iteration_limit: int = 100_000  # of one `repeat`
    artifact_limit_files: int = 10_000  # of a run
    artifact_limit_bytes: int = 10 * 1024**3  # of a run, together


DEFAULTS = Limits()


def too_many(owner: str, found: int, things: str, limit: int, way_out: str) -> str:
    """What is wrong with something that is beyond its limit, such as "the matrix has 2,000 combinations, but ..."."""
    return f"{owner} {found:,} {things}, but at most {limit:,} are allowed: {way_out}"


def too_long(name: str) -> str:
    """What is wrong with a name that has so many characters."""
    return f"the name has {len(name):,} characters, but at most {NAME_CHARACTERS} are allowed: shorten it"


def too_large(size: int) -> str:
    """What is wrong with a flow whose files have so many bytes."""
    shown = f"{size / 1024**2:.1f} MB (limit: {FLOW_BYTES // 1024**2} MB)"
    return f"the flow is too large, {shown}: split it into several flows, or move data to a file"


def too_many_values(limit: int) -> str:
    """What is wrong with a flow that has more values; how many they are is not known, because it is not read on."""
    return (
        f"the flow, with the files that it includes, has more than {limit:,} values after resolving aliases: "
        "split it into several flows, move data to a file, or raise PITSTOP_VALUE_LIMIT"
    )


def too_many_combinations(found: int, limits: Limits) -> str:
    way_out = "use fewer values, or raise PITSTOP_MATRIX_LIMIT"
    return too_many("the matrix has", found, "combinations", limits.matrix_limit, way_out)


def too_many_iterations(found: int, limits: Limits) -> str:
    way_out = "end the loop earlier, or raise PITSTOP_ITERATION_LIMIT"
    return too_many("the loop has", found, "iterations", limits.iteration_limit, way_out)


def too_many_artifacts(files: int, size: int, limits: Limits) -> str | None:
    """What is wrong with so many artifacts, of so many bytes together; None if they are within the limits."""
    if files > limits.artifact_limit_files:
        way_out = "pack them into one file, or raise PITSTOP_ARTIFACT_LIMIT_FILES"
        return too_many("the run has at least", files, "artifacts", limits.artifact_limit_files, way_out)
    if size > limits.artifact_limit_bytes:
        way_out = "store fewer or smaller files, or raise PITSTOP_ARTIFACT_LIMIT_BYTES"
        return too_many("the artifacts have at least", size, "bytes", limits.artifact_limit_bytes, way_out)
    return None


def too_long_artifact_path(path: str) -> str | None:
    """What is wrong with an artifact whose path is too long, with the beginning of the path; None if it is not."""
    if len(path) <= ARTIFACT_PATH_CHARACTERS:
        return None
    most = f"at most {ARTIFACT_PATH_CHARACTERS:,} are allowed"
    return f"artifact {path[:50] + '…'!r}: its path has {len(path):,} characters, but {most}: use fewer folders"


def too_many_steps(found: int, limits: Limits) -> str:
    way_out = "split it into several flows, or raise PITSTOP_STEP_LIMIT"
    return too_many("the flow, with those that it calls, has at least", found, "steps", limits.step_limit, way_out)
