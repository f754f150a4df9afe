"""`workspace: fresh`: a step with a workspace of its own, seen by whoever debugs it."""

from tests.doors.cli.command_line import CommandLine


def test_a_shell_at_the_stop_is_in_the_workspace_of_the_step_and_repairs_it(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{id: apart, workspace: fresh, run: test -e repaired}]")

    said = cli.run("debug", "flow.yaml", "-c", "c", "-c", "sh touch repaired", "-c", "retry")

    assert said.code == 0, said.out
    assert "intervened" in said.out
    assert not (cli.folder / "repaired").exists()


def test_what_it_leaves_as_artifacts_is_kept_with_the_run(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{workspace: fresh, run: 'echo 1 > out.txt', artifacts: out.txt}]")

    said = cli.run("run", "flow.yaml", "--plain")

    assert said.code == 0, said.out
    assert [path.name for path in cli.home.glob("runs/*/artifacts/*")] == ["out.txt"]
    assert not (cli.folder / "out.txt").exists()
    assert list(cli.home.glob("workspaces/*/repo")) == []
