"""Consumers of change streams in real processes, which are killed and frozen, on the engine's server in real time."""
