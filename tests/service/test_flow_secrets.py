"""Warnings of a check: where a script reads a secret that it does not have."""

import pytest

from pitstop.service.caller import LOCAL
from pitstop.service.runs import RunRequest
from tests.service.desk import Desk

FLOW = """\
secrets: [ALL]
env: {SET: "${{ .secrets.SET }}"}
steps:
  - run: |
      echo $ALL $SET $UNKNOWN
      echo ${KEY:-none} $KEYS
  - {secrets: [KEY], run: echo $KEY}
  - {run: echo $KEY, env: {KEY: mine}}
  - {wait: {command: test -n "$KEY"}}
  - group: read
    secrets: [GROUP]
    steps: [{run: echo $GROUP}, {run: 'echo "${#READ}" ${{ .secrets.READ }} \\$KEY'}]
cleanup:
  - {run: echo $GROUP}
"""


async def test_a_script_that_reads_a_secret_which_is_not_listed_is_warned_of(desk: Desk) -> None:
    async with desk.service as service:
        told = await service.flows.check(LOCAL, desk.write(FLOW))

    assert [(each.line, each.column, each.message.partition(" ")[0]) for each in told.warnings] == [
        (6, 12, "`KEY`"),
        (9, 31, "`KEY`"),
        (12, 46, "`READ`"),
        (14, 16, "`GROUP`"),
    ]
    assert told.warnings[0].hint == "add `secrets: [KEY]` to the step"
    assert told.warnings[0].text == "      echo ${KEY:-none} $KEYS"


@pytest.mark.parametrize("name", ["TOKEN", "OTHER"])
async def test_a_secret_that_is_given_is_known(desk: Desk, name: str) -> None:
    request = RunRequest(flow="a.yaml", text="steps: [{run: echo $TOKEN}]", secrets={name: "x"})
    async with desk.service as service:
        told = await service.flows.resolve(LOCAL, request)
    assert len(told.warnings) == (name == "TOKEN")
