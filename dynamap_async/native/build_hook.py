"""Hatchling's hook that compiles the native codec into the wheel. It is part of the sdist, and of no wheel.

Without a C compiler the wheel is built without it, for any Python. setuptools is what compiles, as it knows the
compilers of all platforms; nothing else of it is used.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

_PACKAGE = Path(__file__).parent
_NAME = "dynamap_async.native._codec"
_SOURCES = ("module.c", "json.c", "item.c", "answer.c", "type.c", "decode.c", "output.c", "encode.c", "write.c")


class NativeCodecHook(BuildHookInterface):
    """Compiles the native codec, unless DYNAMAP_NATIVE_CODEC=0; with 1 it is an error if that fails."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile: into the wheel, or beside the sources where they are installed as they are."""
        wish = os.environ.get("DYNAMAP_NATIVE_CODEC")
        if self.target_name != "wheel" or wish == "0":
            return
        self._folder = tempfile.mkdtemp(prefix="dynamap-native-")
        try:
            made = _compiled(self._folder)
        except (BaseError, CCompilerError, OSError) as error:
            if wish == "1":
                raise
            self.app.display_warning(
                f"dynamap_async: the native codec was not built ({error}). Everything works without it, and reading "
                "and writing items takes more time; install a C compiler and Python's headers to have it."
            )
            return
        if version == "editable":
            shutil.copy(made, _PACKAGE)
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"][str(made)] = f"dynamap_async/native/{made.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled, which is in the wheel now."""
        shutil.rmtree(getattr(self, "_folder", ""), ignore_errors=True)


def _compiled(folder: str) -> Path:
    """Return the path of the extension, compiled into a folder."""
    extension = Extension(_NAME, [str(_PACKAGE / source) for source in _SOURCES])
    command = build_ext(Distribution({"name": "dynamap_async", "ext_modules": [extension]}))
    command.build_lib, command.build_temp = folder, str(Path(folder, "temp"))
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath(_NAME))
