"""How the images of agents are built: with the program of a container engine, from the recipes that Pitstop has."""

import difflib
import shutil
from collections.abc import Iterable, Mapping

from pitstop.errors import CommandRefused, Unavailable
from pitstop.service.agents import EngineName, ImageBuild
from pitstop.steps.agents.image_recipes import Recipe, image_recipes

# What lets a build reach package registries. Engines know the proxies; a recipe has to declare the others
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY")
PASSED_VARIABLES = (*_PROXIES, *map(str.lower, _PROXIES), "NPM_CONFIG_REGISTRY")


def recipe_named(name: str) -> Recipe:
    """CommandRefused, with the names that there are."""
    known = image_recipes()
    if name in known:
        return known[name]
    nearest = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"there are {', '.join(known)}"
    raise CommandRefused(f"there is no agent image {name!r}: {hint}")


def build_of(
    recipe: Recipe, engine: EngineName, socket: str | None, image: str | None, environment: Mapping[str, str]
) -> ImageBuild:
    """The command line that builds an image; Unavailable if the engine's program is not installed.

    `socket` is where the engine is; without one, its program looks for it.
    """
    if shutil.which(engine, path=environment.get("PATH")) is None:
        raise Unavailable(f"cannot build an image: the `{engine}` command is not in PATH")
    host = () if socket is None else ("--host" if engine == "docker" else "--url", f"unix://{socket}")
    named = image or recipe.image
    words = ("build", "--tag", named, *_build_arguments(environment), "--file", str(recipe.file), str(recipe.folder))
    return ImageBuild(named, engine, (engine, *host, *words))


def _build_arguments(environment: Mapping[str, str]) -> Iterable[str]:
    """Names without values: the engine's program takes those from its environment, so that `ps` shows none."""
    return [word for name in PASSED_VARIABLES if environment.get(name) for word in ("--build-arg", name)]
