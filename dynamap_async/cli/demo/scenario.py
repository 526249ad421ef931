"""What a scenario is: models, the data that is shipped for them, and questions. It runs nothing."""

import inspect
import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any, TypeAlias

from dynamap_async import BoundQuery, Model, Session
from dynamap_async.dataclass import dataclass

Question: TypeAlias = Callable[[Session], BoundQuery[Any, Any]]
"""An access pattern. The first paragraph of its docstring asks it in words, the others remark on the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A published design of tables."""

    name: str
    """What ``--scenario`` calls it; its data is in ``data/<name>.json``."""
    title: str
    source: str
    """Who published it."""
    models: tuple[type[Model], ...]
    questions: tuple[Question, ...]

    def items(self) -> list[Model]:
        """Return the shipped items: model name -> field values in the file, instances here."""
        text = (files("dynamap_async.cli.demo") / "data" / f"{self.name}.json").read_text("utf-8")
        entries: dict[str, list[Any]] = json.loads(text)
        return [model.model_validate(entry) for model in self.models for entry in entries[model.__name__]]


def words_of(question: Question) -> tuple[str, list[str]]:
    """Return the sentence that asks a question, and the remarks on its answer."""
    asked, *remarks = (inspect.getdoc(question) or question.__name__).split("\n\n")
    return " ".join(asked.split()), [" ".join(remark.split()) for remark in remarks]
