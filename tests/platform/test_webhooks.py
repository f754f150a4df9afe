"""Deliveries as GitHub, GitLab, Gitea and scripts send them, over HTTP to a real server."""

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from pitstop.platform.triggers.payload_facts import Provider
from pitstop.platform.triggers.webhooks import sign
from pitstop.service.caller import LOCAL
from pitstop.service.hooks import HookInfo, Hooks
from pitstop.service.repos import RepoChanges
from tests.git.repositories import git as plain_git
from tests.platform.workbench import Workbench

PUSH: dict[Provider, dict[str, str]] = {
    "github": {"x-github-event": "push", "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958"},
    "gitlab": {"x-gitlab-event": "Push Hook", "x-gitlab-event-uuid": "13792a34-cac6-4fda-95a8-c58e00a3954e"},
    "gitea": {"x-gitea-event": "push", "x-gitea-delivery": "f6266f16-1bf3-46a5-9ea4-602e06ead473"},
    "plain": {"x-pitstop-event": "push", "x-pitstop-delivery": "one"},
}


@pytest.fixture
async def client(bench: Workbench) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=bench.house.url, trust_env=False, timeout=60) as client:
        yield client


def desk(bench: Workbench) -> Hooks:
    assert bench.house.service.hooks is not None
    return bench.house.service.hooks


def flow(provider: str, more: str = "") -> str:
    return f"""
        on:
          webhook:
            provider: {provider}
            events: [push]{more}
        inputs: {{sha: {{default: none}}}}
        steps:
          - id: show
            run: echo "$BRANCH $SHA"
            env: {{BRANCH: '${{{{ .trigger.branch }}}}', SHA: '${{{{ .inputs.sha }}}}'}}
        """


async def send(
    client: httpx.AsyncClient, hook: HookInfo, payload: Any, headers: dict[str, str] | None = None, **changed: str
) -> httpx.Response:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    signed = sign(hook.provider, hook.secret or "", body, time.time())
    given = {**PUSH[hook.provider], **signed, "content-type": "application/json", **(headers or {}), **changed}
    return await client.post(hook.path, content=body, headers=given)


def outcomes(answered: httpx.Response) -> list[tuple[str, str | None]]:
    return [(each["outcome"], each["reason"]) for each in answered.json()["firings"]]


@pytest.mark.parametrize(
    ("provider", "payload"),
    [
        ("github", {"ref": "refs/heads/topic", "before": "0" * 40, "after": "1" * 40, "pusher": {"name": "ada"}}),
        ("gitlab", {"object_kind": "push", "ref": "refs/heads/topic", "after": "1" * 40, "user_username": "ada"}),
        ("gitea", {"ref": "refs/heads/topic", "after": "1" * 40, "pusher": {"login": "ada"}}),
        ("plain", {"ref": "refs/heads/topic", "after": "1" * 40}),
    ],
)
async def test_a_signed_delivery_starts_its_flow_once_with_its_inputs(
    bench: Workbench, client: httpx.AsyncClient, provider: Provider, payload: Any
) -> None:
    sha = await bench.push_flow(flow(provider, "\n            inputs: {sha: .payload.after}"), "hooked")
    hook = await desk(bench).add(LOCAL, bench.repo, provider)

    first = await send(client, hook, payload)
    assert first.status_code == 202, first.text
    assert [each["outcome"] for each in first.json()["firings"]] == ["pending"]
    again = await send(client, hook, payload)
    assert [each["outcome"] for each in again.json()["firings"]] == ["duplicate"]

    (run,) = await bench.runs()
    assert run.commit is not None
    assert (run.commit.sha, run.ref, run.inputs["sha"]) == (sha, "main", "1" * 40)
    assert (await bench.output(run.id, "show"))[0].split()[1] == "1" * 40
    delivered = await desk(bench).deliveries(LOCAL, bench.repo, hook.id)
    assert [(each.status, each.event) for each in delivered] == [(202, PUSH[provider][next(iter(PUSH[provider]))])] * 2
    assert [[each.outcome for each in one.firings] for one in delivered] == [["duplicate"], ["started"]]
    assert delivered[-1].firings[0].run == run.id
    assert hook.secret is not None
    assert hook.secret not in str(delivered)
    repeated = await desk(bench).deliver_again(LOCAL, bench.repo, hook.id, delivered[-1].id)
    assert [each.outcome for each in repeated.firings] == ["pending"]
    assert len(await bench.runs()) == 2


async def test_what_is_not_signed_or_too_large_or_no_json_is_refused_and_starts_nothing(
    bench: Workbench, client: httpx.AsyncClient
) -> None:
    await bench.push_flow(flow("github"), "hooked")
    hook = await desk(bench).add(LOCAL, bench.repo, "github")
    for status, payload, headers in (
        (401, {"ref": "x"}, {"x-hub-signature-256": "sha256=" + "0" * 64}),
        (401, {"ref": "x"}, {"x-hub-signature-256": ""}),
        (422, b"{not json", {}),
        (422, b"[" * 500 + b"]" * 500, {}),
        (422, b"[" * 5_000_000, {}),
        (422, b"[" + b"0," * 1_000_000 + b"0]", {}),
        (422, {"ref": "x"}, {"x-github-event": ""}),
        (413, b" " * (30 * 1024 * 1024), {}),
        (200, {"zen": "x"}, {"x-github-event": "ping"}),
    ):
        answered = await send(client, hook, payload, headers)
        assert answered.status_code == status, (status, answered.text[:300])
    assert (await client.post("/hooks/" + "x" * 22, content=b"{}")).status_code == 404
    assert (await client.get(hook.path)).status_code == 404
    await desk(bench).set_enabled(LOCAL, bench.repo, hook.id, enabled=False)
    assert (await send(client, hook, {"ref": "x"})).status_code == 404
    assert await bench.runs() == []
    refused = [each for each in await desk(bench).deliveries(LOCAL, bench.repo, hook.id) if each.status == 401]
    assert not any(each.can_repeat for each in refused)


async def test_a_delivery_that_starts_nothing_says_why(bench: Workbench, client: httpx.AsyncClient) -> None:
    condition = "\n            if: '.payload.ref == \"refs/heads/main\"'"
    await bench.commit(
        {
            ".pitstop/flows/branch.yaml": flow("github", condition),
            ".pitstop/flows/other.yaml": flow("gitlab"),
            ".pitstop/flows/off.yaml": flow("github", "\n            enabled: false"),
            ".pitstop/flows/switched.yaml": flow("github"),
            ".pitstop/flows/broken.yaml": "steps: 1\n",
            ".pitstop/flows/push.yaml": "on: push\nsteps: [{run: 'true'}]\n",
        }
    )
    await bench.push()
    await bench.repos.update(LOCAL, bench.repo, RepoChanges(disabled_flows=("switched",)))
    hook = await desk(bench).add(LOCAL, bench.repo, "github")

    answered = (await send(client, hook, {"ref": "refs/heads/topic"})).json()
    found = {each["flow"]: each["reason"] for each in answered["firings"]}
    assert found.pop("broken").startswith("the flow file has errors: .pitstop/flows/broken.yaml:1")
    assert found == {
        "branch": '`if: .payload.ref == "refs/heads/main"` is not true',
        "other": "the webhook has provider 'github', but the flow has `provider: gitlab`",
        "off": "the trigger is disabled in the flow file",
        "switched": "the flow is disabled in the settings of the repository",
    }
    other = await send(client, hook, {"ref": "x"}, {"x-github-event": "issues", "x-github-delivery": "2"})
    reasons = {each["flow"]: each["reason"] for each in other.json()["firings"]}
    assert reasons["branch"] == "event 'issues' is not among `events: push`"


async def test_a_webhook_for_a_flow_that_is_gone_says_so(bench: Workbench, client: httpx.AsyncClient) -> None:
    await bench.push_flow()
    hook = await desk(bench).add(LOCAL, bench.repo, "plain", "gone")

    answered = await send(client, hook, {"x": 1})
    assert outcomes(answered) == [("refused", "main has no flow 'gone'")]


async def test_a_webhook_of_a_flow_that_a_push_deletes_says_so_and_works_again_with_the_flow(
    bench: Workbench, client: httpx.AsyncClient
) -> None:
    await bench.push_flow(flow("plain"), "hooked")
    hook = await desk(bench).add(LOCAL, bench.repo, "plain", "hooked")
    await bench.git("rm", "--quiet", ".pitstop/flows/hooked.yaml")
    await bench.commit()
    await bench.push()

    gone = await send(client, hook, {}, {"x-pitstop-delivery": "1"})
    assert (gone.status_code, outcomes(gone)) == (202, [("refused", "main has no flow 'hooked'")])
    await bench.push_flow(flow("plain"), "hooked")
    assert outcomes(await send(client, hook, {}, {"x-pitstop-delivery": "1"})) == [("pending", None)]
    assert len(await bench.runs()) == 1


async def test_a_delivery_without_a_default_branch_or_a_repository_starts_nothing(
    bench: Workbench, client: httpx.AsyncClient
) -> None:
    hook = await desk(bench).add(LOCAL, bench.repo, "plain")
    assert outcomes(await send(client, hook, {})) == []
    await bench.push_flow(flow("plain"), "hooked")
    await plain_git(bench.bare, "update-ref", "-d", "refs/heads/main")
    ((outcome, reason),) = outcomes(await send(client, hook, {}, {"x-pitstop-delivery": "2"}))
    assert outcome == "refused"
    assert "main" in (reason or "")
    await bench.repos.delete(LOCAL, bench.repo)
    assert (await send(client, hook, {}, {"x-pitstop-delivery": "3"})).status_code == 404


async def test_too_many_deliveries_are_refused(
    bench: Workbench, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pitstop.service.local.hooks.MOST_A_MINUTE", 5)
    hook = await desk(bench).add(LOCAL, bench.repo, "plain")
    codes = [(await send(client, hook, {}, {"x-pitstop-event": "ping"})).status_code for _ in range(6)]
    assert (codes.count(200), codes[-1]) == (5, 429)


async def test_a_removed_webhook_is_gone(bench: Workbench, client: httpx.AsyncClient) -> None:
    hook = await desk(bench).add(LOCAL, bench.repo, "plain")
    await send(client, hook, {})
    await desk(bench).remove(LOCAL, bench.repo, hook.id)
    assert await desk(bench).list(LOCAL, bench.repo) == ()
    assert (await send(client, hook, {})).status_code == 404
