"""The profiles of agents as runs of a commit use them: built-in ones, and those in files of the commit."""

from pitstop.errors import UnknownPath
from pitstop.git.reading import RepositoryReader
from pitstop.steps.agents.profile import OWN_PROFILES, Profile, built_in_profiles, own_profile, profile_named

READ_BYTES = 1024 * 1024


async def profile_at(reader: RepositoryReader, sha: str, name: str, cli: str | None = None) -> Profile:
    """The profile of an agent. BadConfig for one that does not exist, or is invalid."""
    is_built_in = name in built_in_profiles()
    text = None if is_built_in else await text_at(reader, sha, f"{OWN_PROFILES}/{name}.yaml")
    return profile_named(name) if text is None else own_profile(name, text, cli)


async def text_at(reader: RepositoryReader, sha: str, path: str) -> str | None:
    """The beginning of a file of a commit; None if there is no such file."""
    try:
        return (await reader.blob(f"{sha}:{path}", READ_BYTES)).decode(errors="replace")
    except UnknownPath:
        return None
