"""Models from a table that exists: a sample of its items becomes a design, and a design a module of models.

Taking the sample is the only step that does I/O. The others are pure, each with a value of its own: ``kinds`` tells
which items are of one model, ``field_types`` what their attributes are, ``key_patterns`` how their keys are made, and
``source`` writes it down. What the sample leaves in doubt is marked, never guessed in silence.
"""

from __future__ import annotations

from dynamap_async.generate.design import Design, design_of
from dynamap_async.generate.item_checks import Difference, check_items, models_in
from dynamap_async.generate.module_merge import ModuleMerge, merge_models
from dynamap_async.generate.sample import Sample
from dynamap_async.generate.sampling import infer, take_sample
from dynamap_async.generate.table_design import FieldDesign, ModelDesign
from dynamap_async.generate.workbench import samples_in

__all__ = [
    "Design",
    "Difference",
    "FieldDesign",
    "ModelDesign",
    "ModuleMerge",
    "Sample",
    "check_items",
    "design_of",
    "infer",
    "merge_models",
    "models_in",
    "samples_in",
    "take_sample",
]
