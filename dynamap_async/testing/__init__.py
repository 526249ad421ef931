"""Real local engines for tests and trials of programs that use this library.

This package owns the engines and the sessions aimed at them. It owns no fixtures and no fakes: an engine is a context
manager that fits into any test framework.
"""

from dynamap_async.testing.engine import Engine
from dynamap_async.testing.local import LocalEngine
from dynamap_async.testing.native import NativeEngine

__all__ = ["Engine", "LocalEngine", "NativeEngine"]
