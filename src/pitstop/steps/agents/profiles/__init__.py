"""The built-in profiles of agents, one YAML file each."""
