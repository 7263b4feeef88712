"""The page in the browser: its server, and the items that it shows."""
