"""What the two agents of a fix loop are asked, as texts."""
