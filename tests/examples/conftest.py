"""The example applications of the documentation, imported as their users do: from docs/examples."""

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
sys.path.append(str(EXAMPLES))
