"""Which pushes and deliveries start a flow, and what a user reads about the others."""

from typing import Any

import pytest

from pitstop.platform.triggers.matching import Matches, NoMatch, PushSeen, Verdict, judge_push, judge_webhook

TO_MAIN = PushSeen(ref="refs/heads/main", message="Fix the bill", paths=("src/a.py", "README.md"))


def pushed(**changes: Any) -> PushSeen:
    return PushSeen(**{"ref": TO_MAIN.ref, "message": TO_MAIN.message, "paths": TO_MAIN.paths, **changes})


@pytest.mark.parametrize(
    ("on_push", "push"),
    [
        ({}, TO_MAIN),
        ({"branches": ["**"], "tags": [], "paths": []}, TO_MAIN),
        ({"branches": ["main"]}, TO_MAIN),
        ({"paths": ["docs/**", "src/**"]}, TO_MAIN),
        ({"branches": [], "tags": ["v*"], "paths": ["docs/**"]}, pushed(ref="refs/tags/v1", paths=None)),
        ({"branches": ["main"], "tags": ["v*"]}, TO_MAIN),
        ({}, pushed(message="the button [skip it] skips ci")),
    ],
)
def test_a_push_that_matches_starts_the_flow(on_push: dict[str, Any], push: PushSeen) -> None:
    assert judge_push(on_push, push) == Matches()


@pytest.mark.parametrize(
    ("on_push", "push", "reason"),
    [
        (None, TO_MAIN, "the flow has no push trigger"),
        ({"enabled": False}, TO_MAIN, "the trigger is disabled in the flow file"),
        ({}, pushed(is_deleted=True), "the branch was deleted"),
        ({"tags": ["v*"]}, pushed(ref="refs/tags/v1", is_deleted=True), "the tag was deleted"),
        ({}, pushed(message="Typo [Skip CI]\n\nmore"), "the commit message contains [skip ci]"),
        ({}, pushed(message="Typo\n\n[ci skip]"), "the commit message contains [ci skip]"),
        ({}, pushed(message="[NO CI] typo"), "the commit message contains [no ci]"),
        (
            {"branches": ["main", "release/**"]},
            pushed(ref="refs/heads/topic"),
            "branch 'topic' does not match `branches: main, release/**`",
        ),
        ({"paths": ["docs/**"]}, TO_MAIN, "no changed file matches `paths: docs/**`"),
        ({"paths": ["docs/**"]}, pushed(paths=()), "no changed file matches `paths: docs/**`"),
        ({}, pushed(ref="refs/tags/v1"), "tags start only flows with `tags`"),
        ({"tags": ["v*"]}, pushed(ref="refs/tags/a"), "tag 'a' does not match `tags: v*`"),
        ({"branches": [], "tags": ["v*"]}, TO_MAIN, "branches do not start a flow that has only `tags`"),
        ({}, pushed(ref="refs/notes/commits"), "'refs/notes/commits' is neither a branch nor a tag"),
        (
            {"branches": [f"b{number}" for number in range(12)]},
            TO_MAIN,
            "branch 'main' does not match `branches: b0, b1, b2, b3, b4, b5, b6, b7, b8, b9 and 2 more`",
        ),
    ],
)
def test_a_push_that_does_not_match_says_why(on_push: dict[str, Any] | None, push: PushSeen, reason: str) -> None:
    assert judge_push(on_push, push) == NoMatch(reason)


def test_a_push_with_unknown_changes_matches_all_paths_and_says_so() -> None:
    verdict = judge_push({"paths": ["docs/**"]}, pushed(paths=None))

    assert verdict == Matches("the changed files are unknown, so `paths` was not checked")


@pytest.mark.parametrize(
    ("on_webhook", "provider", "event", "verdict"),
    [
        ({}, "plain", "webhook", Matches()),
        ({"provider": "github", "events": []}, "github", "issues", Matches()),
        ({"provider": "github", "events": ["push"]}, "github", "push", Matches()),
        ({"provider": "gitlab", "events": ["merge_request"]}, "gitlab", "Merge Request Hook", Matches()),
        ({"provider": "gitlab", "events": ["Push Hook"]}, "gitlab", "Push Hook", Matches()),
        (
            {"provider": "gitlab", "events": ["push"]},
            "gitlab",
            "Tag Push Hook",
            NoMatch("event 'Tag Push Hook' is not among `events: push`"),
        ),
        (
            {"provider": "github", "events": ["push", "pull_request"]},
            "github",
            "issues",
            NoMatch("event 'issues' is not among `events: push, pull_request`"),
        ),
        (
            {"provider": "github"},
            "gitea",
            "push",
            NoMatch("the webhook has provider 'gitea', but the flow has `provider: github`"),
        ),
        ({"enabled": False}, "plain", "webhook", NoMatch("the trigger is disabled in the flow file")),
        (None, "plain", "webhook", NoMatch("the flow has no webhook trigger")),
    ],
)
def test_a_delivery_is_judged_by_its_provider_and_event(
    on_webhook: dict[str, Any] | None, provider: str, event: str, verdict: Verdict
) -> None:
    assert judge_webhook(on_webhook, provider, event) == verdict
