"""``python -m shop``: see that everything is there, and begin. What may be missing is imported after that."""

import sys
from importlib.util import find_spec

PACKAGES = ("dynamap_async", "fastapi", "flask", "jinja2", "moto", "python_multipart", "strawberry", "uvicorn")
INSTALL = 'pip install "dynamap-async[fastapi]" jinja2 python-multipart strawberry-graphql uvicorn'

missing = [name for name in PACKAGES if find_spec(name) is None]
if missing:
    sys.exit(f"The shop needs {', '.join(missing)}: {INSTALL}")

from shop.command import main  # noqa: E402 - only now it can be imported

main()
