"""Deliveries of webhooks: only those that are signed with the secret are read."""

import hashlib
import hmac
import json
import traceback
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest

from pitstop.errors import BadRequest, BadSignature
from pitstop.platform.triggers.payload_facts import Facts, Provider, facts_in
from pitstop.platform.triggers.webhooks import Delivery, is_ping, read_delivery, sign

SECRET = "correct horse battery"
NOW = 1_714_564_800.0
OLD, NEW, ZERO = "a" * 40, "b" * 40, "0" * 40
EVENT_HEADERS: Mapping[Provider, str] = {
    "github": "x-github-event",
    "gitlab": "x-gitlab-event",
    "gitea": "x-gitea-event",
    "plain": "x-pitstop-event",
}
PROVIDERS = tuple(EVENT_HEADERS)


def signed(provider: Provider, body: bytes, event: str = "push", at: float = NOW) -> dict[str, str]:
    return {EVENT_HEADERS[provider]: event, **sign(provider, SECRET, body, at)}


def delivered(provider: Provider, body: bytes, headers: Mapping[str, str] | None = None) -> Delivery:
    return read_delivery(provider, signed(provider, body) if headers is None else headers, body, SECRET, NOW)


def hmac_of(text: bytes) -> str:
    return hmac.new(SECRET.encode(), text, hashlib.sha256).hexdigest()


def test_signatures_are_those_of_the_providers() -> None:
    assert sign("github", SECRET, b"{}", NOW) == {"x-hub-signature-256": f"sha256={hmac_of(b'{}')}"}
    assert sign("gitea", SECRET, b"{}", NOW) == {"x-gitea-signature": hmac_of(b"{}")}
    assert sign("gitlab", SECRET, b"{}", NOW) == {"x-gitlab-token": SECRET}
    assert sign("plain", SECRET, b"{}", NOW + 0.9) == {
        "x-pitstop-signature-256": f"sha256={hmac_of(b'1714564800.{}')}",
        "x-pitstop-timestamp": "1714564800",
    }


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_signed_delivery_is_read(provider: Provider) -> None:
    body = b'{"n": [1]}'
    delivery = delivered(provider, body)

    assert delivery == Delivery(event="push", delivery_id=hashlib.sha256(body).hexdigest(), payload={"n": [1]})


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_delivery_without_a_signature_is_refused_before_it_is_parsed(provider: Provider) -> None:
    with pytest.raises(BadSignature, match="is missing"):
        delivered(provider, b"no json", {EVENT_HEADERS[provider]: "push"})


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("secret", ["wrong", "", SECRET + " ", "é", "\ud800"])
def test_a_delivery_with_another_secret_is_refused_before_it_is_parsed(provider: Provider, secret: str) -> None:
    body = b"no json"

    with pytest.raises(BadSignature, match=r"the delivery is refused: X-(Hub|Gitea|Gitlab|Pitstop)-") as refused:
        read_delivery(provider, sign(provider, secret, body, NOW), body, SECRET, NOW)
    assert SECRET not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize("provider", ["github", "gitea", "plain"])
def test_a_body_that_was_changed_is_refused(provider: Provider) -> None:
    with pytest.raises(BadSignature, match="does not match the secret and the body"):
        delivered(provider, b'{"n": 2}', signed(provider, b'{"n": 1}'))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_webhook_without_a_secret_takes_nothing(provider: Provider) -> None:
    with pytest.raises(BadSignature, match=r"has no secret|is missing"):
        read_delivery(provider, sign(provider, "", b"{}", NOW), b"{}", "", NOW)


@pytest.mark.parametrize("seconds", [-300, 0, 300])
def test_a_plain_delivery_is_read_within_five_minutes(seconds: int) -> None:
    assert delivered("plain", b"{}", signed("plain", b"{}", at=NOW + seconds)).payload == {}


@pytest.mark.parametrize("seconds", [-301, 301])
def test_a_plain_delivery_is_refused_after_five_minutes(seconds: int) -> None:
    with pytest.raises(BadSignature, match="X-Pitstop-Timestamp is more than 300 s away"):
        delivered("plain", b"{}", signed("plain", b"{}", at=NOW + seconds))


@pytest.mark.parametrize("timestamp", [None, "", "soon", "-1", "1e9", "٣", "9" * 5_000])
def test_a_plain_delivery_needs_a_timestamp(timestamp: str | None) -> None:
    headers = {name: value for name, value in signed("plain", b"{}").items() if name != "x-pitstop-timestamp"}

    with pytest.raises(BadSignature, match="X-Pitstop-Timestamp must be the seconds since 1970"):
        delivered("plain", b"{}", headers if timestamp is None else {**headers, "x-pitstop-timestamp": timestamp})


def test_another_timestamp_needs_another_signature() -> None:
    with pytest.raises(BadSignature, match="does not match"):
        delivered("plain", b"{}", {**signed("plain", b"{}"), "x-pitstop-timestamp": str(int(NOW) + 1)})


@pytest.mark.parametrize("provider", ["github", "gitlab", "gitea"])
@pytest.mark.parametrize("event", [None, "", "e" * 201])
def test_a_delivery_names_its_event(provider: Provider, event: str | None) -> None:
    headers = sign(provider, SECRET, b"{}", NOW)

    with pytest.raises(BadRequest, match="must name the event"):
        delivered(provider, b"{}", headers if event is None else {**headers, EVENT_HEADERS[provider]: event})


def test_a_plain_delivery_without_an_event_is_a_webhook() -> None:
    assert delivered("plain", b"{}", sign("plain", SECRET, b"{}", NOW)).event == "webhook"


@pytest.mark.parametrize(
    ("provider", "header"),
    [
        ("github", "x-github-delivery"),
        ("gitlab", "x-gitlab-event-uuid"),
        ("gitea", "x-gitea-delivery"),
        ("plain", "x-pitstop-delivery"),
    ],
)
def test_a_delivery_has_the_id_of_its_provider(provider: Provider, header: str) -> None:
    body = b"{}"

    assert delivered(provider, body, {**signed(provider, body), header: "d-1"}).delivery_id == "d-1"
    too_long = delivered(provider, body, {**signed(provider, body), header: "d" * 201})
    assert too_long.delivery_id == hashlib.sha256(body).hexdigest()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_body_that_is_no_json_is_refused(provider: Provider) -> None:
    with pytest.raises(BadRequest, match="not valid JSON"):
        delivered(provider, b"payload=1")


def test_a_form_of_github_is_read() -> None:
    form = urlencode({"payload": json.dumps({"ref": "refs/heads/größe", "a": "x+y&z"})}).encode()
    headers = {**signed("github", form), "content-type": "Application/X-www-form-urlencoded; charset=utf-8"}

    delivery = delivered("github", form, headers)
    assert (delivery.branch, delivery.payload["a"]) == ("größe", "x+y&z")


@pytest.mark.parametrize("form", [b"", b"other=1", b"payload=%ff", b"\xff", b"&".join([b"a=1"] * 50)])
def test_a_form_without_a_payload_is_refused(form: bytes) -> None:
    headers = {**signed("github", form), "content-type": "application/x-www-form-urlencoded"}

    with pytest.raises(BadRequest, match="set the content type of the webhook to JSON"):
        delivered("github", form, headers)


def test_only_a_ping_is_a_ping() -> None:
    assert is_ping("github", "ping")
    assert is_ping("plain", "ping")
    assert not is_ping("github", "push")
    assert not is_ping("gitlab", "Push Hook")


# --- What a delivery is about ----------------------------------------------------------------------------------------

SENDER = {"sender": {"login": "mona"}}


@pytest.mark.parametrize(
    ("provider", "payload", "facts"),
    [
        (
            "github",
            {
                "ref": "refs/heads/main",
                "before": OLD,
                "after": NEW,
                "head_commit": {"id": NEW},
                "pusher": {"name": "m"},
                **SENDER,
            },
            Facts("refs/heads/main", NEW, OLD, "mona"),
        ),
        (
            "github",
            {"ref": "refs/heads/gone", "before": OLD, "after": ZERO, "head_commit": None, "pusher": {"name": "m"}},
            Facts("refs/heads/gone", None, OLD, "m"),
        ),
        (
            "github",
            {"ref": "refs/tags/v1", "before": ZERO, "after": OLD, "head_commit": {"id": NEW}},
            Facts("refs/tags/v1", NEW),
        ),
        (
            "github",
            {
                "action": "synchronize",
                "before": OLD,
                "pull_request": {"head": {"ref": "topic", "sha": NEW}, "base": {"ref": "main"}},
                **SENDER,
            },
            Facts("refs/heads/topic", NEW, OLD, "mona"),
        ),
        (
            "github",
            {"release": {"tag_name": "v2", "target_commitish": "main"}, **SENDER},
            Facts("refs/tags/v2", None, None, "mona"),
        ),
        ("github", {"ref": "topic", "ref_type": "branch", **SENDER}, Facts("refs/heads/topic", None, None, "mona")),
        (
            "gitea",
            {"ref": "v3", "ref_type": "tag", "sha": NEW, "pusher": {"login": "g"}},
            Facts("refs/tags/v3", NEW, None, "g"),
        ),
        (
            "gitea",
            {"ref": "refs/heads/main", "before": OLD, "after": NEW, "pusher": {"login": "g"}},
            Facts("refs/heads/main", NEW, OLD, "g"),
        ),
        (
            "gitea",
            {"number": 7, "pull_request": {"head": {"ref": "topic", "sha": NEW}}, **SENDER},
            Facts("refs/heads/topic", NEW, None, "mona"),
        ),
        (
            "gitlab",
            {
                "object_kind": "push",
                "ref": "refs/heads/main",
                "before": OLD,
                "after": NEW,
                "checkout_sha": NEW,
                "user_username": "lab",
            },
            Facts("refs/heads/main", NEW, OLD, "lab"),
        ),
        (
            "gitlab",
            {"object_kind": "tag_push", "ref": "refs/tags/v1", "before": ZERO, "after": OLD, "checkout_sha": NEW},
            Facts("refs/tags/v1", NEW),
        ),
        (
            "gitlab",
            {
                "object_kind": "merge_request",
                "user": {"username": "lab"},
                "object_attributes": {"source_branch": "topic", "last_commit": {"id": NEW}, "oldrev": OLD},
            },
            Facts("refs/heads/topic", NEW, OLD, "lab"),
        ),
        (
            "gitlab",
            {"object_kind": "release", "tag": "v2", "commit": {"id": NEW}},
            Facts("refs/tags/v2", NEW),
        ),
        (
            "plain",
            {"ref": "refs/heads/main", "sha": NEW, "before": OLD, "who": "cron"},
            Facts("refs/heads/main", NEW, OLD, "cron"),
        ),
        ("plain", {"ref": "main", "sha": "HEAD"}, Facts()),
        ("plain", {"sha": "c" * 64, "who": "w" * 1_001}, Facts(None, "c" * 64)),
    ],
)
def test_a_payload_has_a_ref_commits_and_a_user(provider: Provider, payload: Any, facts: Facts) -> None:
    assert facts_in(provider, payload) == facts


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "payload",
    [
        None,
        3,
        "text",
        [],
        {},
        {"ref": 3, "after": [], "sender": "x", "pusher": None, "head_commit": 1},
        {"pull_request": None},
        {"pull_request": {"head": {"ref": {}, "sha": 1}}},
        {"release": []},
        {"object_kind": "merge_request", "object_attributes": None},
        {"object_kind": ["push"], "user": [], "ref": ""},
        {"ref": "main", "ref_type": ["branch"]},
    ],
)
def test_a_payload_of_any_other_shape_has_no_facts(provider: Provider, payload: Any) -> None:
    assert facts_in(provider, payload) == Facts()
