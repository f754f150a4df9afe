"""A server put together: the service with its database, the HTTP door, and the commands that start and tend it."""
