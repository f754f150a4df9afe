"""The desks of a server, over HTTP."""
