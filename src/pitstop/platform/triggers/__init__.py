"""What starts the flows of a repository: which events there are, and which flows they are for."""
