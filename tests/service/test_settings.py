from pathlib import Path

from pitstop.settings import read_settings


def test_the_state_folder_is_where_the_environment_says() -> None:
    assert read_settings({"PITSTOP_HOME": "/a", "XDG_STATE_HOME": "/b", "HOME": "/c"}).home == Path("/a")
    assert read_settings({"XDG_STATE_HOME": "/b", "HOME": "/c"}).home == Path("/b/pitstop")
    assert read_settings({"XDG_STATE_HOME": "relative", "HOME": "/c"}).home == Path("/c/.local/state/pitstop")
    assert read_settings({"HOME": "/c"}).runs == Path("/c/.local/state/pitstop/runs")
