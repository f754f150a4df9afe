"""The model relay: an agent talks to it on loopback, and only it has the key of the model's API."""
