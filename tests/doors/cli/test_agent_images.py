"""An image that `pitstop agents image` has built is there for the steps of a flow."""

from pitstop.steps.agents.image_recipes import image_recipes
from tests.containers import BOX, Docker
from tests.doors.cli.command_line import CommandLine

BASE = "debian:bookworm-slim"
# Stands in for Debian, which is not on this machine: it installs nothing, and has no packages to install
LIKE_DEBIAN = f"""\
FROM {BOX}
RUN echo '#!/bin/sh' > /bin/apt-get \\
    && echo 'echo "$2:x:1000:1000::/:/bin/sh" >> /etc/passwd' > /bin/useradd \\
    && chmod 755 /bin/apt-get /bin/useradd
"""


def test_a_step_runs_in_an_image_that_was_built(cli: CommandLine, docker: Docker) -> None:
    docker.says("build", "--tag", BASE, "-", stdin=LIKE_DEBIAN.encode())
    env = {"DOCKER_HOST": docker.host}

    built = cli.run("agents", "image", "test", env=env)

    image = image_recipes()["test"].image
    assert (built.code, built.lines[:1]) == (0, [image])
    cli.write("flow.yaml", f"steps: [{{id: who, run: whoami, image: '{image}', user: image, pull: never}}]")
    assert "who | agent" in cli.run("run", "flow.yaml", env=env).lines
