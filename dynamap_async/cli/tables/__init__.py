"""``dynamap plan``, ``apply``, ``diff``, ``verify``, ``tables`` and ``describe``: tables, from the command line."""
