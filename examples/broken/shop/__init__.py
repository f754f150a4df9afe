"""A shop that knows one thing: what a price is with tax."""
