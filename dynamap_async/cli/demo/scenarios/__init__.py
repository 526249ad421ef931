"""The published designs that the demo shows: for each its models, and its questions as functions of a session.

These files are written as a program's own would be; read them first. The data is in ``../data``.
"""

from typing import Final

from dynamap_async.cli.demo.scenario import Scenario
from dynamap_async.cli.demo.scenarios import chat, devices, forum, sessions

SCENARIOS: Final = {module.SCENARIO.name: module.SCENARIO for module in (forum, devices, sessions, chat)}
"""Name -> scenario, in the order in which they are shown."""

__all__ = ["SCENARIOS", "Scenario"]
