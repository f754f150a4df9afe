"""Names in git: which texts can be the name of a ref, a commit, or the path of a file."""

import re

ZEROS = "0" * 40  # how git writes that a ref does not exist
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git knows it, whether or not it is stored
BRANCHES = "refs/heads/"
TAGS = "refs/tags/"
HIDDEN = "refs/pitstop/"  # refs of Pitstop itself, which no git client sees
MOST_PATH_CHARACTERS = 1000

_FORBIDDEN_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_FORBIDDEN_IN_PATH = re.compile(r"[\x00-\x1f\x7f]")
_HEX = re.compile(r"[0-9a-f]{4,64}")
_FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def is_ref_name(name: str) -> bool:
    """Whether git takes it as the full name of a ref, such as `refs/heads/main`: as `git check-ref-format` decides."""
    if "/" not in name or name.endswith((".", "/")) or _FORBIDDEN_IN_REF.search(name) or not is_text(name):
        return False
    return not any(not part or part.startswith(".") or part.endswith(".lock") for part in name.split("/"))


def is_branch_name(name: str) -> bool:
    """Whether a branch can have this name. Unlike other refs, it cannot begin with a dash."""
    return not name.startswith("-") and name != "HEAD" and is_ref_name(BRANCHES + name)


def is_full_sha(text: str) -> bool:
    return _FULL.fullmatch(text) is not None


def is_short_sha(text: str) -> bool:
    """Whether it can be the beginning of the name of a commit, or all of it."""
    return _HEX.fullmatch(text) is not None


def short_name(ref: str) -> str:
    """The name of a branch or tag, as people write it."""
    return ref.removeprefix(BRANCHES).removeprefix(TAGS)


def is_writable_path(path: str) -> bool:
    """Whether a file in a repository can be created there: a relative path, of parts that git and people can use."""
    if len(path) > MOST_PATH_CHARACTERS or _FORBIDDEN_IN_PATH.search(path) or not is_text(path):
        return False
    return not any(part in ("", ".", "..") or part.lower() == ".git" for part in path.split("/"))


def is_text(name: str) -> bool:
    """Whether it can be written as UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
