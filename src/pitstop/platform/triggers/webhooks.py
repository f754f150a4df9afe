"""Deliveries of webhooks: whether they are signed with the secret, and what they say."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from msgspec import Struct

from pitstop.errors import BadRequest, BadSignature
from pitstop.platform.triggers.payload_facts import Provider, facts_in
from pitstop.platform.triggers.payloads import read_payload

OLDEST_SECONDS = 300  # of a timestamp: then a delivery cannot be sent again by someone who has seen it
_TIMESTAMP = "X-Pitstop-Timestamp"
_LONGEST = 200  # characters of the name of an event, or of an id
_FORM = "application/x-www-form-urlencoded"
_FORM_FIELDS = 10


class _HeaderNames(Struct, frozen=True):
    signature: str
    event: str
    delivery_id: str


_HEADERS: Mapping[Provider, _HeaderNames] = {
    "github": _HeaderNames("X-Hub-Signature-256", "X-GitHub-Event", "X-GitHub-Delivery"),
    "gitlab": _HeaderNames("X-Gitlab-Token", "X-Gitlab-Event", "X-Gitlab-Event-UUID"),
    "gitea": _HeaderNames("X-Gitea-Signature", "X-Gitea-Event", "X-Gitea-Delivery"),
    "plain": _HeaderNames("X-Pitstop-Signature-256", "X-Pitstop-Event", "X-Pitstop-Delivery"),
}


class Delivery(Struct, frozen=True, kw_only=True):
    """What was delivered. The facts after `payload` are None where the payload does not have them."""

    event: str
    delivery_id: str
    payload: Any
    ref: str | None = None
    sha: str | None = None
    before: str | None = None
    who: str | None = None

    @property
    def branch(self) -> str | None:
        prefix = "refs/heads/"
        return self.ref.removeprefix(prefix) if self.ref is not None and self.ref.startswith(prefix) else None


def read_delivery(provider: Provider, headers: Mapping[str, str], body: bytes, secret: str, now: float) -> Delivery:
    """The delivery, where `headers` have lower-case names; BadSignature before anything is parsed, then BadRequest.

    The largest bodies take about a second, so call it in a thread.
    """
    names = _HEADERS[provider]
    _check_signature(provider, headers, body, secret, now)
    event = headers.get(names.event.lower(), "webhook" if provider == "plain" else "")
    if not 0 < len(event) <= _LONGEST:
        raise BadRequest(f"{names.event} must name the event, in at most {_LONGEST} characters")
    delivery_id = headers.get(names.delivery_id.lower(), "")
    if not 0 < len(delivery_id) <= _LONGEST:
        delivery_id = hashlib.sha256(body).hexdigest()
    is_form = provider == "github" and headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM
    payload = read_payload(_form_payload(body) if is_form else body)
    facts = facts_in(provider, payload)
    return Delivery(
        event=event,
        delivery_id=delivery_id,
        payload=payload,
        ref=facts.ref,
        sha=facts.sha,
        before=facts.before,
        who=facts.who,
    )


def is_ping(provider: Provider, event: str) -> bool:
    """Whether the event only tests the webhook; GitLab and Gitea have none that does."""
    return provider in ("github", "plain") and event == "ping"


def sign(provider: Provider, secret: str, body: bytes, timestamp: float) -> dict[str, str]:
    """The headers, with lower-case names, that `read_delivery` accepts; only those of `plain` have the timestamp."""
    names = _HEADERS[provider]
    sent_at = str(int(timestamp))
    headers = {names.signature.lower(): _signature(provider, secret, body, sent_at)}
    return headers | {_TIMESTAMP.lower(): sent_at} if provider == "plain" else headers


def _check_signature(provider: Provider, headers: Mapping[str, str], body: bytes, secret: str, now: float) -> None:
    header = _HEADERS[provider].signature
    given = headers.get(header.lower())
    if not given:
        raise BadSignature(header, "is missing")
    if not secret:
        raise BadSignature(header, "cannot be checked, because the webhook has no secret")
    sent_at = ""
    if provider == "plain":
        sent_at = headers.get(_TIMESTAMP.lower(), "")
        _check_timestamp(sent_at, now)
    expected = _signature(provider, secret, body, sent_at)
    if not hmac.compare_digest(_bytes(expected), _bytes(given)):
        what = "is not the secret of the webhook" if provider == "gitlab" else "does not match the secret and the body"
        raise BadSignature(header, what)


def _check_timestamp(sent_at: str, now: float) -> None:
    if not (sent_at.isascii() and sent_at.isdigit() and len(sent_at) <= len("253402300799")):
        raise BadSignature(_TIMESTAMP, "must be the seconds since 1970 as a whole number")
    if abs(now - int(sent_at)) > OLDEST_SECONDS:
        raise BadSignature(_TIMESTAMP, f"is more than {OLDEST_SECONDS} s away from the clock of the server")


def _signature(provider: Provider, secret: str, body: bytes, sent_at: str) -> str:
    if provider == "gitlab":
        return secret
    signed = f"{sent_at}.".encode() + body if provider == "plain" else body
    digest = hmac.new(_bytes(secret), signed, hashlib.sha256).hexdigest()
    return digest if provider == "gitea" else f"sha256={digest}"


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")  # an error would have the text in it, which may be the secret


def _form_payload(body: bytes) -> bytes:
    try:
        fields = parse_qs(body.decode("ascii"), errors="strict", max_num_fields=_FORM_FIELDS)
        return fields["payload"][0].encode()
    except KeyError as error:
        raise BadRequest("the form has no field `payload`: set the content type of the webhook to JSON") from error
    except ValueError as error:
        raise BadRequest("the body is not a form: set the content type of the webhook to JSON") from error
