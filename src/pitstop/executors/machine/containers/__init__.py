"""Commands in containers of the Docker or Podman of this machine."""
