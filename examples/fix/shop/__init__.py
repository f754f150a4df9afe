"""A small shop whose prices are wrong in two ways; the second shows when the first is repaired."""
