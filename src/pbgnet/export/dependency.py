"""The optional libraries for ONNX, and the error if they are missing."""

import importlib
import re
from types import ModuleType
from typing import Any

from pbgnet.exceptions import PBGNetError

OLDEST_RUNTIME = (1, 29)
"""The first onnxruntime that runs every file `export_onnx` writes: older ones lack functions in float64."""


class MissingOnnxError(PBGNetError, ImportError):
    """The library needed to write or run an ONNX file is not installed, or too old."""


def import_onnx() -> Any:
    """Return the library that writes the files, with its submodules loaded."""
    for part in ("onnx.helper", "onnx.numpy_helper", "onnx.checker"):
        _import(part)
    return _import("onnx")


def import_onnxruntime() -> Any:
    """Return the library that runs the files."""
    return _import("onnxruntime")


def check_runtime(runtime: Any, path: object, problem: Exception) -> None:
    """Raise `MissingOnnxError` for a problem with an intact file if the runtime is too old for some files."""
    found = str(runtime.__version__)
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if numbers < OLDEST_RUNTIME:
        oldest = ".".join(map(str, OLDEST_RUNTIME))
        raise MissingOnnxError(
            f"{path} is complete, but onnxruntime {found} cannot run it ({problem!s:.200}). It "
            f"needs onnxruntime {oldest} or later: pip install --upgrade onnxruntime"
        ) from problem


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        library = name.split(".")[0]
        raise MissingOnnxError(f"This requires {library}: pip install {library}") from error
