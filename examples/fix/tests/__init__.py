"""The tests of the shop."""
