"""Pacing: when requests are sent, by the capacity of tables and indexes, as far as it is known or was learned."""
