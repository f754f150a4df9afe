"""The table of limits is what holds, and each of its rows has a test."""

import re
from inspect import signature
from pathlib import Path

import pytest

from pitstop import limits
from pitstop.definition.plain import MOST_SECRETS
from pitstop.engine.frame import LARGEST_NOTE_BYTES
from pitstop.executors.jq_worker import JqWorker
from pitstop.git import backend, reading
from pitstop.limits import DEFAULTS
from pitstop.platform import flow_index, push_events, scanning
from pitstop.platform.cards import limits as card_limits
from pitstop.platform.playground import limits as trial_limits
from pitstop.platform.repo_values import MOST_PROTECTED
from pitstop.platform.stored import cards, firings
from pitstop.platform.triggers import payloads
from pitstop.runs import shell_recording
from pitstop.service.hooks import MOST_BODY_BYTES
from pitstop.service.local import hooks, repos
from pitstop.settings import Settings, read_settings
from pitstop.steps import python, script_outputs, step_logs
from pitstop.steps.http import HttpConfig
from pitstop.store.port import LONGEST_LINE

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/limits.md"
SECTIONS, _, _ = PAGE.read_text().partition("## HTTP")  # which the tests of that door cover
ROWS = re.findall(r"^\| (?P<what>.+?) \| (?P<limit>[\d,]+) \| (?P<setting>`\w+`)?[^|]*\|", SECTIONS, re.MULTILINE)

BAD_CARDS = "platform/cards/test_bad_cards.py::test_a_card_that_cannot_be_is_refused_by_the_desk_and_over_http"
MANY_CARDS = "platform/cards/test_bad_cards.py::test_what_an_operator_can_make_many_of_has_a_limit"
BAD_TRIALS = "platform/playground/test_trials.py::test_what_cannot_be_tried_is_refused_with_a_reason"
MANY_TRIALS = "platform/playground/test_lives_of_trials.py::test_there_are_limits_for_callers_and_for_repositories"
TESTED = {  # the number that holds, and where a test goes beyond it
    "bytes of a flow, with": (
        limits.FLOW_BYTES,
        "definition/test_flow_mistakes.py::test_what_is_no_yaml_that_can_be_read",
    ),
    "values in a flow": (DEFAULTS.value_limit, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "nesting of values": (
        limits.VALUE_LEVELS,
        "definition/test_flow_mistakes.py::test_a_chain_of_aliases_is_as_deep_as_what_it_stands_for",
    ),
    "nesting of steps": (
        limits.STEP_LEVELS,
        "plan/test_planner_flow.py::test_flows_that_call_each_other_without_end_end",
    ),
    "steps in a flow": (DEFAULTS.step_limit, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "names in each": (limits.VARIABLES, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "characters of a name": (limits.NAME_CHARACTERS, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "secrets in one list": (MOST_SECRETS, "definition/test_flow_mistakes.py::test_a_list_of_secrets_has_a_limit"),
    "combinations of a": (DEFAULTS.matrix_limit, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "iterations of a": (DEFAULTS.iteration_limit, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "retries of a step": (limits.RETRIES, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "frames open": (DEFAULTS.frame_limit, "engine/test_parallel.py::test_branches_in_branches_above_the_limit_fail"),
    "artifacts of a run": (
        DEFAULTS.artifact_limit_files,
        "service/test_local.py::test_artifacts_beyond_the_limit_are_not_stored_and_the_run_says_so",
    ),
    "bytes of the artifacts": (
        DEFAULTS.artifact_limit_bytes,
        "steps/test_run.py::test_artifacts_beyond_a_limit_fail_the_step",
    ),
    "characters of an artifact": (
        limits.ARTIFACT_PATH_CHARACTERS,
        "service/test_local.py::test_an_artifact_whose_path_is_too_long_is_not_stored_and_the_run_says_so",
    ),
    "bytes of the outputs": (
        script_outputs.MOST_BYTES,
        "steps/test_run.py::test_garbage_in_the_output_file_fails_the_step_with_a_reason",
    ),
    "bytes of the result of": (
        python.ANSWER_BYTES,
        "steps/test_python.py::test_a_result_that_is_too_large_fails_the_step",
    ),
    "bytes of an `http`": (
        HttpConfig.model_fields["body_limit"].default,
        "steps/test_http.py::test_a_long_body_is_cut",
    ),
    "bytes of the results": (
        signature(JqWorker).parameters["max_output_bytes"].default,
        "executors/test_jq_worker.py::test_results_that_are_too_large_are_cut_off",
    ),
    "bytes of a note": (
        LARGEST_NOTE_BYTES,
        "engine/test_notes.py::test_a_note_that_is_too_large_fails_the_step_and_names_the_limit",
    ),
    "bytes of a log line": (LONGEST_LINE, "contracts/store.py::test_a_line_that_never_ends_is_kept_as_several"),
    "bytes of `.steps.<id>.log`": (
        step_logs.LOG_TEXT_BYTES,
        "steps/test_step_logs.py::test_a_long_log_is_cut_to_its_last_lines",
    ),
    "bytes of a log in `$PITSTOP_CONTEXT`": (
        step_logs.LOG_FILE_BYTES,
        "service/test_step_logs.py::test_a_file_has_the_whole_log_up_to_a_limit_and_no_secrets",
    ),
    "bytes of a recorded": (
        shell_recording.MOST_BYTES,
        "service/test_shell_recording.py::test_a_recording_that_grows_too_large_says_where_it_ends",
    ),
    "files in a snapshot": (
        Settings(ROOT).snapshot_limit_files,
        "executors/test_snapshots.py::test_what_is_too_large_is_refused_before_anything_is_kept",
    ),
    "bytes in a snapshot": (
        Settings(ROOT).snapshot_limit_bytes,
        "service/test_files_too_large.py::test_files_that_cannot_be_kept_keep_no_step_from_running",
    ),
    "repositories of a server": (
        repos.MOST_REPOS,
        "platform/test_limits.py::test_repositories_beyond_the_limit_are_refused",
    ),
    "bytes of a push": (
        backend.MOST_PUSH_BYTES,
        "git/test_backend.py::test_a_push_that_is_too_large_is_refused_in_words",
    ),
    "git clients": (
        backend.MOST_AT_ONCE,
        "git/test_backend.py::test_more_requests_than_allowed_are_refused_until_one_has_ended",
    ),
    "flows in a repository": (
        flow_index.MOST_FLOWS,
        "platform/test_bad_input.py::test_200_flow_files_are_read_and_the_next_one_is_a_problem",
    ),
    "bytes of a flow in a": (
        flow_index.LONGEST_FLOW_BYTES,
        "platform/test_limits.py::test_a_flow_file_that_is_too_large_is_a_problem",
    ),
    "branches and tags that": (
        scanning.MOST_REFS,
        "platform/test_pushes.py::test_many_refs_at_once_are_known_and_start_nothing",
    ),
    "runs that start each": (
        push_events.MOST_DEPTH,
        "platform/test_merging.py::test_a_chain_of_merges_ends_at_its_limit",
    ),
    "firings that are": (
        firings.MOST_KEPT,
        "platform/test_retention.py::test_of_the_firings_of_a_repository_the_newest_are_kept_and_those_that_are_pending",
    ),
    "protected branches": (
        MOST_PROTECTED,
        "platform/test_limits.py::test_settings_beyond_the_limits_are_refused_and_nothing_changes",
    ),
    "disabled flows": (
        repos.MOST_DISABLED,
        "platform/test_limits.py::test_settings_beyond_the_limits_are_refused_and_nothing_changes",
    ),
    "webhooks of": (hooks.MOST_HOOKS, "platform/test_limits.py::test_webhooks_beyond_the_limit_are_refused"),
    "bytes of a delivery": (
        MOST_BODY_BYTES,
        "platform/test_webhooks.py::test_what_is_not_signed_or_too_large_or_no_json_is_refused_and_starts_nothing",
    ),
    "values in a delivery": (
        payloads.MOST_VALUES,
        "platform/triggers/test_payloads.py::test_a_million_values_are_read_and_not_one_more",
    ),
    "deliveries to a": (hooks.MOST_A_MINUTE, "platform/test_webhooks.py::test_too_many_deliveries_are_refused"),
    "entries of a folder": (reading.MOST_ENTRIES, "git/test_reading.py::test_a_very_large_folder_is_cut"),
    "cards of a repository": (cards.MOST_CARDS, MANY_CARDS),
    "characters of a card's title": (card_limits.LONGEST_TITLE, BAD_CARDS),
    "characters of a card's description": (card_limits.LONGEST_TEXT, BAD_CARDS),
    "labels of a card": (card_limits.MOST_LABELS, BAD_CARDS),
    "characters of a label": (card_limits.LONGEST_LABEL, BAD_CARDS),
    "notes on a card": (card_limits.MOST_NOTES, MANY_CARDS),
    "attempts at a card": (card_limits.MOST_ATTEMPTS, MANY_CARDS),
    "agents of a prompt": (trial_limits.MOST_PROFILES, BAD_TRIALS),
    "characters of a prompt": (trial_limits.LONGEST_PROMPT, BAD_TRIALS),
    "trials that a user": (trial_limits.MOST_A_MINUTE, MANY_TRIALS),
    "trials that run": (trial_limits.MOST_RUNNING, MANY_TRIALS),
    "trials that are stored": (
        trial_limits.MOST_KEPT,
        "platform/playground/test_lives_of_trials.py::test_of_the_trials_of_a_repository_the_newest_are_kept",
    ),
    "characters of the name": (trial_limits.LONGEST_SAVE_NAME, BAD_TRIALS),
    "bytes that a `commit`": (
        card_limits.COMMIT_BYTES,
        "git/test_incoming.py::test_too_many_bytes_are_refused",
    ),
}


def test_each_row_has_a_test() -> None:
    untested = [what for what, _, _ in ROWS if not what.startswith(tuple(TESTED))]
    assert (len(ROWS), untested) == (len(TESTED), [])


@pytest.mark.parametrize(("what", "limit", "setting"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_is_what_holds(what: str, limit: str, setting: str) -> None:
    number, test = next(tested for name, tested in TESTED.items() if what.startswith(name))
    file, _, name = test.partition("::")

    assert limit == f"{number:,}"
    assert f"def {name}(" in (ROOT / "tests" / file).read_text()
    if setting.startswith("`PITSTOP_"):
        assert read_settings({setting.strip("`"): "7"}) != read_settings({})
