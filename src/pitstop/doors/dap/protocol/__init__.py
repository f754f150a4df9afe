"""The Debug Adapter Protocol on the wire: its messages, and how they are framed."""
