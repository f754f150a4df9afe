"""A registry with one image, as small as an engine will accept it. It says `ready`, and serves until it is ended.

python registry.py PORT IMAGE.tar NAME [USER:PASSWORD]
"""

import base64
import gzip
import hashlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def blobs_of(layer: bytes, arch: str = "amd64") -> tuple[bytes, dict[str, bytes]]:
    """The manifest of an image with one layer, and its parts by their digests."""
    packed = gzip.compress(layer, mtime=0)
    rootfs = {"type": "layers", "diff_ids": [digest_of(layer)]}
    config = json.dumps({"architecture": arch, "os": "linux", "config": {}, "rootfs": rootfs}).encode()
    parts = {digest_of(part): part for part in (config, packed)}
    kinds = ("application/vnd.docker.container.image.v1+json", "application/vnd.docker.image.rootfs.diff.tar.gzip")
    described = [
        {"mediaType": kind, "size": len(part), "digest": digest}
        for kind, (digest, part) in zip(kinds, parts.items(), strict=True)
    ]
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": described[0], "layers": described[1:]}
    return json.dumps(manifest).encode(), parts


def serve(port: int, layer: bytes, name: str, login: str = "") -> None:
    manifest, parts = blobs_of(layer)

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            wanted = "Basic " + base64.b64encode(login.encode()).decode()
            if login and self.headers.get("Authorization") != wanted:
                self.answer(401, b"{}", "application/json")
            elif self.path == "/v2/":
                self.answer(200, b"{}", "application/json")
            elif self.path.startswith(f"/v2/{name}/manifests/"):
                self.answer(200, manifest, MANIFEST)
            elif self.path.removeprefix(f"/v2/{name}/blobs/") in parts:
                self.answer(200, parts[self.path.removeprefix(f"/v2/{name}/blobs/")], "application/octet-stream")
            else:
                self.answer(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}', "application/json")

        def answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Docker-Content-Digest", digest_of(body))
            if status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="registry"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]).read_bytes(), *sys.argv[3:])
