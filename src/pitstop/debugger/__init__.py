"""DECIDING, WHEN ASKED: a session holds a run up where somebody wanted it to, and does what they say."""
