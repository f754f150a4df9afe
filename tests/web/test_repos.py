"""The pages of repositories: their stories in Chromium, against a real server and with a real git client."""

import pytest

from tests.web.test_web import REPOSITORIES, npm_run


@pytest.mark.needs("npm", "chromium")
@pytest.mark.timeout(900)
def test_a_repository_is_created_pushed_to_debugged_and_cleaned_up_in_chromium() -> None:
    npm_run("e2e", "--", REPOSITORIES)
