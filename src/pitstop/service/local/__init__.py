"""The desks in this process."""
