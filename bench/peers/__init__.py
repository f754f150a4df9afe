"""The other ways to do the same work, each by its library's fastest reasonable idiom."""
