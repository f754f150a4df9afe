"""How a registry lets this user in: what `docker login` or `podman login` has left behind."""

import asyncio
import base64
import binascii
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DOCKER_HUB = "https://index.docker.io/v1/"
HELPER_SECONDS = 10.0


async def credentials_for(image: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The header that a pull of the image needs; none when nobody has logged in."""
    registry = registry_of(image)
    for config in _configs(environment):
        login = await _login(config, registry)
        if login is not None:
            return {"X-Registry-Auth": base64.urlsafe_b64encode(json.dumps(login).encode()).decode()}
    return {}


def registry_of(image: str) -> str:
    """As logins name it: `ghcr.io` for ghcr.io/someone/thing, Docker's own for a name without a host."""
    host, slash, _ = image.partition("/")
    is_host = slash and ("." in host or ":" in host or host == "localhost")
    return host if is_host and host not in ("docker.io", "index.docker.io") else DOCKER_HUB


async def _login(config: Mapping[str, Any], registry: str) -> dict[str, str] | None:
    helper = (config.get("credHelpers") or {}).get(registry) or config.get("credsStore")
    if helper and (login := await _ask_helper(str(helper), registry)):
        return login
    kept = (config.get("auths") or {}).get(registry) or {}
    if kept.get("identitytoken"):
        return {"identitytoken": kept["identitytoken"], "serveraddress": registry}
    try:
        user, colon, password = base64.b64decode(kept.get("auth", "")).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return {"username": user, "password": password, "serveraddress": registry} if colon else None


async def _ask_helper(helper: str, registry: str) -> dict[str, str] | None:
    """What a helper of Docker's knows; None when it knows nothing, or is not there."""
    try:
        process = await asyncio.create_subprocess_exec(
            f"docker-credential-{helper}",
            "get",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(HELPER_SECONDS):
            answer, _ = await process.communicate(registry.encode())
        found = json.loads(answer)
        user, password = str(found["Username"]), str(found["Secret"])
    except (TimeoutError, ValueError, KeyError, TypeError):
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if user == "<token>":
        return {"identitytoken": password, "serveraddress": registry}
    return {"username": user, "password": password, "serveraddress": registry}


def _configs(environment: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    home = Path(environment.get("HOME") or "~").expanduser()
    files = [Path(environment.get("DOCKER_CONFIG") or home / ".docker") / "config.json"]
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        files.append(Path(runtime, "containers/auth.json"))
    for file in files:
        try:
            config = json.loads(file.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(config, dict):
            yield config
