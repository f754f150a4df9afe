import inspect
from collections.abc import Iterator

import pytest

from pitstop import errors
from pitstop.errors import (
    BadFlow,
    CommandRefused,
    ExternalEffects,
    Mistake,
    NotAllowed,
    PitstopError,
    StaleStop,
    UnknownRun,
)
from pitstop.service.problems import from_problem, status_of, to_problem


def every_class() -> Iterator[type[PitstopError]]:
    for value in vars(errors).values():
        if inspect.isclass(value) and issubclass(value, PitstopError):
            yield value


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (StaleStop(3), 409),
        (NotAllowed("skip", 3, "it is over"), 409),
        (ExternalEffects(["deploy"]), 409),
        (UnknownRun("r1"), 404),
        (errors.BadCursor("x"), 422),
        (errors.BadInputs(["no such input"]), 422),
        (errors.BadExpression(".x", "no"), 422),
        (errors.Unavailable("no daemon"), 503),
        (errors.LogLost("r1"), 503),
        (errors.TooLarge(10), 413),
        (errors.HeadTooLarge(10), 431),
        (errors.HeadTimeout(10.0), 408),
        (errors.StoreUnavailable("it is away"), 503),
        (errors.Changed('"1"'), 412),
        (errors.NotKnown(), 401),
        (errors.NotPermitted("viewer", "operator"), 403),
        (errors.TooMany("enough"), 429),
    ],
)
def test_an_error_is_told_with_its_values_and_comes_back_as_itself(error: PitstopError, status: int) -> None:
    problem = to_problem(error)
    again = from_problem(problem)

    assert problem["status"] == status
    assert problem["type"] == f"urn:pitstop:{error.code}"
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_the_mistakes_of_a_flow_keep_their_places() -> None:
    error = BadFlow([Mistake("ci.yaml", 3, 5, "no such key", "  rnu: x", "did you mean run?")])
    problem = to_problem(error)
    again = from_problem(problem)

    assert problem["mistakes"][0]["line"] == 3
    assert isinstance(again, BadFlow)
    assert (again.found, again.mistakes) == (error.found, error.mistakes)


def test_every_error_has_a_code_of_its_own_and_a_status() -> None:
    codes = [each.code for each in every_class()]
    assert len(codes) == len(set(codes))
    assert all(400 <= status_of(code) < 600 for code in codes)


def test_an_error_that_only_the_server_knows_is_of_the_nearest_class_above_it() -> None:
    error = from_problem({"code": "refused.brand_new", "detail": "not today", "day": "monday"})
    assert type(error) is CommandRefused
    assert (str(error), error.code) == ("not today", "refused.brand_new")


@pytest.mark.parametrize("told", [{}, {"code": "what"}, {"code": 3, "detail": None}, {"title": "Bad gateway"}])
def test_what_is_hardly_a_problem_is_an_error_all_the_same(told: dict[str, object]) -> None:
    assert type(from_problem(told)) is PitstopError
