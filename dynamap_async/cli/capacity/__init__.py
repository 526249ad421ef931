"""``dynamap capacity``: what reads and writes of an item take in capacity units, and cost for given prices."""
