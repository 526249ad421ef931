"""``dynamap generate models`` and ``dynamap check-items``: models from a table, and models against a table."""
