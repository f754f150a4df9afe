"""Real git, as the platform uses it: bare repositories, what is in them, merges, and smart HTTP."""
