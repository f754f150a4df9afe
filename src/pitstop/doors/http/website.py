"""The web app: its built files, and one page for every address that is not ours to answer."""

import mimetypes
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

IMMUTABLE = "public, max-age=31536000, immutable"
BUILT = Path(__file__).parent / "web"

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
            raise HTTPException(405, "this address can only be looked at", {"Allow": "GET, HEAD"})
        await self._page(path)(scope, receive, send)

    def _page(self, path: str) -> Response:
        found = self._files.get(path) or self._files.get("index.html")
        if found is None:
            return HTMLResponse(NOT_BUILT, 200, {"Cache-Control": "no-cache"})
        cache = IMMUTABLE if path.startswith("assets/") else "no-cache"
        return FileResponse(found, headers={"Cache-Control": cache}, media_type=_type_of(found))


def _files_in(web: Path | None) -> dict[str, Path]:
    """Every file by its address. What is not in this table is not served, whatever the address says."""
    if web is None or not web.is_dir():
        return {}
    return {path.relative_to(web).as_posix(): path for path in web.rglob("*") if path.is_file()}


def _type_of(file: Path) -> str:
    known = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
    return known.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
