"""The command: ``python benchmarks``. `nox -s bench` installs what it needs and runs it."""

import sys
from importlib import import_module
from pathlib import Path

# At the end: what is measured is the package that is installed, not the one that lies beside this folder.
sys.path[0:1] = []
sys.path.append(str(Path(__file__).resolve().parents[1]))

_COMMANDS = {
    "acceptance": "acceptance.command",
    "growth": "growth.command",
    "web": "web.command",
    "compare": "compare.command",
    "streams": "streams.command",
    "engine": "engine",
    "publish": "publication",
    # What these start:
    "worker": "worker",
    "cold": "cold",
    "server": "server",
    "simulated": "acceptance.server",
    "loader": "acceptance.worker",
    "growing": "growth.worker",
    "serving": "web.app",
    "load": "web.load",
    "comparing": "compare.worker",
    "streaming": "streams.server",
    "streamer": "streams.worker",
}
"""First word of the command line -> module; without one of them, the questions are asked."""

if __name__ == "__main__":
    chosen = _COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else "", "command")
    sys.exit(import_module(f"benchmarks.{chosen}").main())
