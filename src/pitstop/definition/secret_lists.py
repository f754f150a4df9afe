"""The list of secrets that a flow or a step names, and what can be wrong with it."""

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from pitstop.definition.plain import MOST_SECRETS, SECRET_PATTERN

_NAME = re.compile(SECRET_PATTERN)


def _check_secret(written: str) -> str:
    if not _NAME.fullmatch(written):
        told = "the name of a secret has letters, digits and `_`, begins with no digit, and has at most 200 characters"
        words = (re.sub("[^A-Za-z0-9_]|^(?=[0-9])", "_", written),)
        raise PydanticCustomError("secret_name", "{told}", {"told": told, "words": words})
    return written


def _check_secrets(written: object) -> object:
    if not isinstance(written, list):
        hint = f"did you mean `[{written}]`?" if isinstance(written, str) else "such as `[DEPLOY_KEY]`"
        raise PydanticCustomError("secret_list", "{told}", {"told": "must be a list of names", "hint": hint})
    if len(written) > MOST_SECRETS:
        told = f"has {len(written)} names: one list takes at most {MOST_SECRETS}"
        raise PydanticCustomError("secret_list", "{told}", {"told": told})
    return written


Secrets = Annotated[
    list[Annotated[str, AfterValidator(_check_secret), WithJsonSchema({"type": "string", "pattern": SECRET_PATTERN})]],
    BeforeValidator(_check_secrets),
    Field(max_length=MOST_SECRETS),
]
