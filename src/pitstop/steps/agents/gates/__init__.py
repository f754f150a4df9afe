"""Gates: what lets Pitstop hold a tool call of an agent until it is decided."""
