"""What a session of an editor knows: its client, what it debugs, and the numbers it gave out."""
