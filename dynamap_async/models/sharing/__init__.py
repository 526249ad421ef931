"""Tables that several models share, and the kinds that tell their items apart."""
