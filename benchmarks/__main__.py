"""The command: ``python benchmarks``. `nox -s bench` installs what it needs and runs it."""

import sys
from pathlib import Path

# At the end: what is measured is the package that is installed, not the one that lies beside this folder.
sys.path[0:1] = []
sys.path.append(str(Path(__file__).resolve().parents[1]))

if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        from benchmarks.worker import main
    elif sys.argv[1:2] == ["cold"]:
        from benchmarks.cold import main
    elif sys.argv[1:2] == ["server"]:
        from benchmarks.server import main
    elif sys.argv[1:2] == ["simulated"]:
        from benchmarks.simulated.server import main
    elif sys.argv[1:2] == ["capacity"]:
        from benchmarks.acceptance.command import main
    elif sys.argv[1:2] == ["growth"]:
        from benchmarks.growth.command import main
    elif sys.argv[1:2] == ["growing"]:
        from benchmarks.growth.worker import main
    elif sys.argv[1:2] == ["compare"]:
        from benchmarks.compare.command import main
    elif sys.argv[1:2] == ["loader"]:
        from benchmarks.acceptance.worker import main
    else:
        from benchmarks.command import main
    sys.exit(main())
