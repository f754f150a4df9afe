"""The workshop around the engine: repositories, what starts their flows, and what came of it."""
