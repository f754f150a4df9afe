"""The fix loop: agents diagnose and repair what tests find, and then hand over to a user."""
