"""Cards: pieces of work on branches, which people and flows review and merge."""
