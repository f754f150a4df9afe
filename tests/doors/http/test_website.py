import gzip
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.doors.http.bench import API, Bench

WEB = Path(__file__).parents[3] / "web"


@pytest.fixture
async def built(tmp_path: Path) -> AsyncIterator[Bench]:
    """A server with a web app that was built."""
    web = tmp_path / "web"
    (web / "assets").mkdir(parents=True)
    (web / "index.html").write_text("<!doctype html><title>Pitstop</title>")
    (web / "assets/app-1a2b.js").write_text("export {};")
    (web / "icon.svg").write_text("<svg/>")
    async with Bench(tmp_path, web=web).serving() as bench:
        yield bench


async def test_every_page_and_file_of_the_app_is_open(bench: Bench) -> None:
    pages = re.findall(r'<Route path="([^"]+)"', (WEB / "src/app/app.tsx").read_text())
    files = [
        f"/{path.relative_to(WEB / 'public').as_posix()}" for path in (WEB / "public").rglob("*") if path.is_file()
    ]
    async with bench.new_client() as browser:
        for path in (*pages, *files, "/index.html"):
            assert (await browser.get(path)).status_code == 200, path


async def test_every_other_address_is_closed_until_the_client_is_known(bench: Bench) -> None:
    async with bench.new_client() as anybody, bench.new_client(bench.token) as owner:
        for path in ("/git/x/info/refs", "/mcp", "/metrics", "/runs", "/settings", "/healthy", "/login/x"):
            assert (await anybody.get(path)).status_code == 401, path
            assert (await owner.get(path)).status_code != 401, path
        for path in ("/", "/health", "/runs/x", "/assets/x.js"):
            assert (await anybody.post(path)).status_code == 401, path


async def test_every_address_of_the_app_is_its_one_page(built: Bench) -> None:
    async with built.new_client() as browser:
        for path in ("/", "/new?flow=a", "/runs/20260101-x", "/runs/20260101-x/debug"):
            response = await browser.get(path)
            assert (response.status_code, response.headers["cache-control"]) == (200, "no-cache")
            assert "<title>Pitstop</title>" in response.text


async def test_assets_are_kept_for_ever_and_have_their_types(built: Bench) -> None:
    async with built.new_client() as browser:
        script = await browser.get("/assets/app-1a2b.js")
        icon = await browser.get("/icon.svg")
        missing = await browser.get("/assets/app-old.js")

    assert "immutable" in script.headers["cache-control"]
    assert script.headers["content-type"].startswith("text/javascript")
    assert icon.headers["content-type"].startswith("image/svg")
    assert missing.status_code == 404


async def test_a_file_is_sent_as_small_as_the_client_takes_it(built: Bench, tmp_path: Path) -> None:
    script = b"export const words = 'many';" * 100
    web = tmp_path / "small/web"
    (web / "assets").mkdir(parents=True)
    (web / "index.html").write_text("<!doctype html>")
    (web / "assets/app.js").write_bytes(script)
    (web / "assets/app.js.gz").write_bytes(gzip.compress(script))
    (web / "assets/app.js.br").write_bytes(b"brotli")
    sent: dict[str, tuple[str, int]] = {}

    async with Bench(tmp_path / "small", web=web).serving() as bench, bench.new_client() as browser:
        for accepted in ("gzip", "gzip, br;q=0", "identity", ""):
            response = await browser.get("/assets/app.js", headers={"Accept-Encoding": accepted})
            assert (response.content, response.headers["vary"]) == (script, "Accept-Encoding")
            sent[accepted] = (response.headers.get("content-encoding", ""), int(response.headers["content-length"]))
        async with browser.stream(
            "GET", "/assets/app.js", headers={"Accept-Encoding": "gzip, deflate, br"}
        ) as response:
            assert response.headers["content-encoding"] == "br"
            assert b"".join([chunk async for chunk in response.aiter_raw()]) == b"brotli"
        hidden = await browser.get("/assets/app.js.gz")

    whole, small = len(script), len(gzip.compress(script))
    assert sent == {"gzip": ("gzip", small), "gzip, br;q=0": ("gzip", small), "identity": ("", whole), "": ("", whole)}
    assert hidden.status_code == 404


async def test_what_the_browser_has_is_not_sent_again(built: Bench) -> None:
    async with built.new_client() as browser:
        first = await browser.get("/")
        again = await browser.get("/", headers={"If-None-Match": first.headers["etag"]})
        other = await browser.get("/", headers={"If-None-Match": '"another"'})

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert other.status_code == 200


async def test_a_server_without_the_app_says_how_to_get_it_and_the_api_works(bench: Bench) -> None:
    async with bench.new_client() as browser:
        page = await browser.get("/")
    assert "was not built" in page.text
    assert (await bench.client.get(f"{API}/me")).status_code == 200


async def test_the_server_says_that_it_lives_and_is_ready(bench: Bench) -> None:
    async with bench.new_client() as probe:
        assert (await probe.get("/health")).text == "alive\n"
        assert (await probe.get("/ready")).text == "ready\n"


async def test_requests_are_counted_by_route(own_bench: Bench) -> None:
    for path in ("/me", "/runs/a", "/runs/b", "/nowhere"):
        await own_bench.client.get(API + path)

    text = (await own_bench.client.get("/metrics")).text

    assert 'pitstop_http_requests_total{method="GET",route="get_run",status="404"} 2.0' in text
    assert 'pitstop_http_requests_total{method="GET",route="web",status="404"} 1.0' in text
    assert "/runs/a" not in text
    assert "pitstop_http_request_seconds_bucket" in text
    assert "pitstop_runs_waiting 0.0" in text
