"""Where the library meets others: one module for each, which needs the extra of its name and nothing else.

Importing this package imports none of them.
"""
