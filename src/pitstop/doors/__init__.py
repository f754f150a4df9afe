"""THE STREET: each door translates between its protocol and the service, and decides nothing."""
