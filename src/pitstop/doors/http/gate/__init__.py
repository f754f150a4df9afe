"""Who may come in: tokens, cookies, limits, and the trail of what they did."""
