"""The web app: its built files, and one page for every address that is not ours to answer."""

import hashlib
import mimetypes
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

IMMUTABLE = "public, max-age=31536000, immutable"
BUILT = Path(__file__).parents[1] / "web"
ENCODINGS = {"br": ".br", "gzip": ".gz"}  # the best first; a browser takes Brotli over HTTPS and on its own machine

NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Pitstop</title></head>
<body><main><h1>The web app was not built</h1>
<p>This Pitstop was installed from a source tree without it. Build it with <code>make web</code>, which needs Node, and
start the server again. The API works: see <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>.</p>
</main></body></html>
"""


class Website:
    """ASGI: answers what no route answers. `web` is the folder with index.html and assets; it may not be there."""

    name = "web"

    def __init__(self, web: Path | None) -> None:
        self._files = _files_in(web)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocket(scope, receive, send).close()
            return
        scope["route"] = self
        path = str(scope["path"]).lstrip("/")
        if path.startswith(("api/", "assets/")) and path not in self._files:
            raise HTTPException(404, "there is nothing at this address")
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, "only GET and HEAD are allowed here", {"Allow": "GET, HEAD"})
        await self._page(path, Headers(scope=scope))(scope, receive, send)

    def _page(self, path: str, asked: Headers) -> Response:
        found = self._files.get(path) or self._files.get("index.html")
        if found is None:
            return HTMLResponse(NOT_BUILT, 200, {"Cache-Control": "no-cache"})
        encoding = found.encoding_for(asked.get("accept-encoding", ""))
        body, etag = found.read(encoding)
        headers = {
            "Cache-Control": IMMUTABLE if path.startswith("assets/") else "no-cache",
            "ETag": etag,
            "Vary": "Accept-Encoding",
        }
        if etag in [each.strip() for each in asked.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers=headers)
        if encoding:
            headers["Content-Encoding"] = encoding
        return Response(body, 200, headers, found.media_type)


class BuiltFile:
    """A file as it was built, with its compressed forms beside it; read when it is first asked for, and then kept."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._forms = {
            name: form for name, end in ENCODINGS.items() if (form := file.with_name(file.name + end)).is_file()
        }
        self._kept: dict[str, tuple[bytes, str]] = {}
        self.media_type = _type_of(file)

    def encoding_for(self, accepted: str) -> str:
        """The best form that the client takes; empty for the file as it is."""
        taken = {each.strip() for each in accepted.lower().split(",") if not each.replace(" ", "").endswith(";q=0")}
        names = {each.split(";")[0].strip() for each in taken}
        return next((name for name in self._forms if name in names), "")

    def read(self, encoding: str) -> tuple[bytes, str]:
        """The bytes and their ETag."""
        if encoding not in self._kept:
            body = self._forms.get(encoding, self._file).read_bytes()
            self._kept[encoding] = (body, f'"{hashlib.sha256(body).hexdigest()[:20]}"')
        return self._kept[encoding]


def _files_in(web: Path | None) -> dict[str, BuiltFile]:
    """Every file by its address. What is not in this table is not served, whatever the address says."""
    if web is None or not web.is_dir():
        return {}
    ends = tuple(ENCODINGS.values())
    files = [path for path in web.rglob("*") if path.is_file() and not path.name.endswith(ends)]
    return {path.relative_to(web).as_posix(): BuiltFile(path) for path in files}


def _type_of(file: Path) -> str:
    known = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
    return known.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
