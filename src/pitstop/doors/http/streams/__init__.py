"""Streams: events and output of runs, encoded once for all who follow them."""
