"""The ways of combining steps, one file each."""
