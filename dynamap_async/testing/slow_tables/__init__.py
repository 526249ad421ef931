"""Slow tables: a simulated control plane, since every local engine finishes a change of a table at once.

It knows states, times, quotas and refusals, and leaves items to the engine behind it. Faults are scripted beside it
(``Faults.wrap(slow.transport())``), and capacity is the engine's.
"""

from dynamap_async.testing.slow_tables.control_plane import Transition
from dynamap_async.testing.slow_tables.durations import Durations
from dynamap_async.testing.slow_tables.slow_tables import SlowTables

__all__ = ["Durations", "SlowTables", "Transition"]
