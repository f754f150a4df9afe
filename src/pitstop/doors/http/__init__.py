"""The HTTP door: `/api/v1`, streams and sockets, for browsers, editors and programs."""
