"""Test reports over many runs: how they are stored, and what they say about each test."""
