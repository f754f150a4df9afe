"""The relay itself: it passes the requests of one agent on to the API of a model, and adds the key."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qsl, urlencode

import msgspec

from pitstop.engine.threads import in_thread
from pitstop.steps.agents.any_json import read_json
from pitstop.steps.agents.relay.apis import Refusal, Upstream, messages_of
from pitstop.steps.agents.relay.recording import Exchange, Mask, Recorder, mask_texts, pieces_of, values_of
from pitstop.steps.agents.relay.replay import Replay
from pitstop.steps.agents.relay.server import LARGEST_BODY_BYTES, Answer, Headers, Request, serve
from pitstop.steps.agents.relay.usage import Budget, Price, Usage, price_of, usage_of, why_over
from pitstop.steps.http_client import split_url

if TYPE_CHECKING:
    import httpx

_LARGEST_ERROR_BYTES = 1024 * 1024
_certificates = cache(lambda: import_module("httpx").create_ssl_context())  # which takes 30 ms
_PARAMETERS = frozenset({"alt", "beta", "api-version", "limit", "after_id", "before_id", "pageSize", "pageToken"})
_HOP = frozenset(b"connection keep-alive te trailer transfer-encoding upgrade content-length expect host".split())
_NOT_SENT = _HOP.union(b"authorization x-api-key api-key cookie accept-encoding x-http-method-override".split())
_NOT_SENT_BEGINNINGS = (b"proxy-", b"x-goog-")  # keys, billed projects, and field masks that leave the usage out
_NOT_RETURNED = _HOP.union((b"set-cookie", b"alt-svc", b"content-encoding"))  # what is encoded is decoded


class Relay:
    """Relays the requests of one agent while it is entered; the agent uses `url`, with any key.

    ValueError if the key or the URL is not one. Entering raises OSError if it cannot listen.
    """

    def __init__(
        self,
        upstream: Upstream,
        key: str,
        *,
        budget: Budget | None = None,
        prices: Mapping[str, Price] | None = None,
        record: Path | None = None,
        mask: Mask = str,
        replay: Replay | None = None,
        socket: Path | None = None,
    ) -> None:
        self._upstream = upstream
        self._host = split_url(upstream.url).hostname
        self._key = key.strip()
        self._key_header = upstream.key_header(self._key)
        self._budget = budget or Budget()
        self._prices = prices or {}
        self._mask = mask
        self._replay = replay
        self._socket = socket
        self._stack, self._clients = AsyncExitStack(), AsyncExitStack()
        self._client: httpx.AsyncClient | None = None
        self.recorder = None if record is None else Recorder(record, self._without_secrets)
        self.path = f"/{secrets.token_urlsafe(24)}"  # of everything
        self.url = ""
        self.usage = Usage()  # of the calls that are over
        self.exchanges = 0  # calls of models, those that were replayed included

    @property
    def over_budget(self) -> str | None:
        """Why no further call of a model is allowed; None if one is."""
        return why_over(self._budget, self.usage)

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._clients)
        self.url = await self._stack.enter_async_context(serve(self._handle, self._socket)) + self.path
        group = await self._stack.enter_async_context(asyncio.TaskGroup())
        self._stack.callback(group.create_task(_load_http()).cancel)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _handle(self, request: Request, answer: Answer) -> None:
        try:
            await self._relay(request, answer)
        except Refusal as refusal:
            if answer.status:
                return  # the agent notices that the answer is cut off
            retry = b"true" if refusal.status >= 500 else b"false"  # which the libraries of the APIs obey
            await answer.begin(refusal.status, [(b"content-type", b"application/json"), (b"x-should-retry", retry)])
            await answer.send(self._upstream.error(refusal.status, self._without_secrets(str(refusal))))
            await answer.end()

    async def _relay(self, request: Request, answer: Answer) -> None:
        start, path = request.path[: len(self.path)], request.path[len(self.path) :]
        if not secrets.compare_digest(start.encode(), self.path.encode()):
            raise Refusal(404, "not found: everything is below the relay's own URL")
        if not self._upstream.is_relayed(request.method, path):
            raise Refusal(404, f"{request.method} {path} is not relayed: only calls of models are")
        if request.body is None:
            allowed = f"{LARGEST_BODY_BYTES:,} bytes are allowed, and twice as many in all requests at once"
            raise Refusal(413, f"the request is too large or has no content-length: {allowed}")
        body = read_json(request.body or b"{}")
        if not isinstance(body, dict):
            raise Refusal(400, "the body must be a JSON object, and not compressed")
        model = self._upstream.model_of(path, body)
        shown = read_json(request.body or b"{}")
        mask_texts([shown], self._without_secrets)
        repeated = None if self._replay is None else self._replay.take(self._upstream, path, shown)
        if repeated is None:
            self._check_budget(model)
        self.exchanges += 1
        number = self.exchanges
        try:
            if repeated is not None:
                await _repeat(repeated, answer)
            else:
                is_changed = self._replay is not None and self._replay.change(messages_of(body))
                sent = msgspec.json.encode(body) if is_changed else request.body
                await self._forward(self._sent(request, path, sent), price_of(model, self._prices), answer)
        finally:
            if self.recorder is not None and answer.status:
                said = values_of(answer)
                mask_texts(said, self._without_secrets)
                told = (answer.status, answer.content_type, said, answer.is_whole, repeated is not None)
                self.recorder.add(Exchange(number, path, shown, *told))

    def _check_budget(self, model: str) -> None:
        if self._budget.cost is not None and model and price_of(model, self._prices) is None:
            raise Refusal(400, f"the price of {model!r} is unknown: add it, or set `budget.tokens` instead of `cost`")
        if reason := self.over_budget:
            raise Refusal(400, reason)

    async def _forward(self, asked: Request, price: Price | None, answer: Answer) -> None:
        """Pass a request on, and its response back as it comes."""
        import httpx

        is_free = False
        try:
            if self._client is None:
                has_tls = self._upstream.url.startswith("https:")  # without it a proxy would read the key
                timeout = httpx.Timeout(600, connect=20, pool=None)  # a model may think for minutes before it answers
                verify = _certificates() if has_tls else False
                self._client = httpx.AsyncClient(verify=verify, trust_env=has_tls, timeout=timeout)
                self._clients.push_async_callback(self._client.aclose)
            sent = self._client.build_request(asked.method, asked.path, headers=asked.headers, content=asked.body)
            async with aclosing(await self._client.send(sent, stream=True)) as response:
                is_free = not response.is_success
                if response.is_redirect:
                    raise Refusal(502, f"{self._host} redirects to another URL, which the relay does not follow")
                await answer.begin(response.status_code, self._returned_headers(response))
                async for piece in response.aiter_bytes() if response.is_success else self._error_of(response):
                    await answer.send(piece)
            answer.is_whole = True
        except (httpx.HTTPError, OSError, ValueError, ImportError) as error:  # or an unusable proxy or certificate
            is_free |= not answer.status  # it has not reached the model
            raise Refusal(502, f"cannot reach {self._host}: {str(error) or type(error).__name__}") from error
        finally:
            if not is_free:
                self.usage += usage_of(price, len(asked.body or b""), answer)
        await answer.end()  # not before it is counted, because the next request may come at once

    def _sent(self, request: Request, path: str, body: bytes) -> Request:
        parameters = [pair for pair in parse_qsl(request.query) if pair[0] in _PARAMETERS]
        url = self._upstream.url.rstrip("/") + path + (f"?{urlencode(parameters)}" if parameters else "")
        left_out = _NOT_SENT | {self._key_header[0]}
        allowed = (pair for pair in request.headers if not pair[0].startswith(_NOT_SENT_BEGINNINGS))
        headers = [pair for pair in allowed if pair[0] not in left_out]
        headers += [(b"accept-encoding", b"identity"), self._key_header]
        return Request(request.method, url, "", headers, body or None)  # whose path is a whole URL

    async def _error_of(self, response: "httpx.Response") -> AsyncIterator[bytes]:
        """The body of an error in one piece, because an API may repeat the key in it."""
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece[: _LARGEST_ERROR_BYTES - len(body)]
        yield bytes(body).replace(self._key.encode(), b"***")

    def _returned_headers(self, response: "httpx.Response") -> Headers:
        found = ((name.lower(), value) for name, value in response.headers.raw)
        return [each for each in found if each[0] not in _NOT_RETURNED and self._key.encode() not in each[1]]

    def _without_secrets(self, text: str) -> str:
        return self._mask(text.replace(self._key, "***"))


async def _load_http() -> None:
    # It takes as long to load as some agents take to work. Others take longer to start, and then do not wait for it
    await asyncio.sleep(0.1)
    await in_thread(partial(import_module, "uvicorn.protocols.http.h11_impl"))
    with suppress(OSError):  # which the first request is answered with
        await in_thread(_certificates)


async def _repeat(exchange: Exchange, answer: Answer) -> None:
    await answer.begin(exchange.status, [(b"content-type", exchange.content_type.encode())])
    for piece in pieces_of(exchange):
        await answer.send(piece)
    await answer.end()
