"""The mypy plugin for programs that also use Pydantic's: ``plugins = dynamap_async.mypy, pydantic.mypy``, ours first.

Pydantic's plugin rewrites a model's fields into plain attributes, which would take away the types of our expressions
and refuse index declarations. mypy asks plugins in order, so for our models this one answers first, with nothing: what
the library declares (``dataclass_transform``, descriptors) says it all. Only mypy imports this module.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.nodes import TypeInfo
from mypy.plugin import ClassDefContext, Plugin

_MODEL = "dynamap_async.models.model.Model"


class ModelPlugin(Plugin):
    """Keeps other plugins from changing subclasses of ``Model``."""

    def get_base_class_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """Return a hook that does nothing for the base classes that are our models."""
        found = self.lookup_fully_qualified(fullname)
        ours = found is not None and isinstance(found.node, TypeInfo) and found.node.has_base(_MODEL)
        return _leave_alone if ours else None


def plugin(version: str) -> type[Plugin]:  # noqa: ARG001 - mypy says its version
    """Return the plugin class; mypy calls this function by its name."""
    return ModelPlugin


def _leave_alone(context: ClassDefContext) -> None:
    pass
