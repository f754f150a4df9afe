"""THE DESK: one method for every command and question, the same for each door."""
