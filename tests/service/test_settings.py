from pathlib import Path

from pitstop.settings import environment_for_commands, read_settings


def test_the_state_folder_is_where_the_environment_says() -> None:
    assert read_settings({"PITSTOP_HOME": "/a", "XDG_STATE_HOME": "/b", "HOME": "/c"}).home == Path("/a")
    assert read_settings({"XDG_STATE_HOME": "/b", "HOME": "/c"}).home == Path("/b/pitstop")
    assert read_settings({"XDG_STATE_HOME": "relative", "HOME": "/c"}).home == Path("/c/.local/state/pitstop")
    assert read_settings({"HOME": "/c"}).runs == Path("/c/.local/state/pitstop/runs")


def test_the_limits_of_a_snapshot_can_be_raised() -> None:
    given = read_settings({"HOME": "/c", "PITSTOP_SNAPSHOT_LIMIT_BYTES": "5", "PITSTOP_SNAPSHOT_LIMIT_FILES": "many"})

    assert (given.snapshot_limit_bytes, given.snapshot_limit_files) == (5, 1_000_000)


def test_commands_do_not_inherit_the_settings_of_pitstop() -> None:
    environment = {"PATH": "/bin", "PITSTOP_DB": "postgresql://u:p@db", "PITSTOP_TOKEN": "t", "PGPASSWORD": "p"}

    assert environment_for_commands(environment) == {"PATH": "/bin", "PGPASSWORD": "p"}
    assert environment_for_commands(environment, on_server=True) == {"PATH": "/bin"}


def test_the_limits_of_flows_and_runs_can_be_changed() -> None:
    given = read_settings({"HOME": "/c", "PITSTOP_MATRIX_LIMIT": "5", "PITSTOP_STEP_LIMIT": "-1"})

    assert (given.limits.matrix_limit, given.limits.step_limit) == (5, 10_000)
