"""WHAT WILL RUN: plans, scopes and expressions; pure values and pure functions."""
