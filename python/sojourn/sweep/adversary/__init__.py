"""The search for the link that a controller handles worst."""
