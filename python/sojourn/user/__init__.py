"""Controllers that users write in Python."""
