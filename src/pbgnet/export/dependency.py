"""The libraries of the format, which are an optional extra, and the error where they are absent."""

import importlib
from types import ModuleType
from typing import Any

from pbgnet.exceptions import PBGNetError


class MissingOnnxError(PBGNetError, ImportError):
    """An ONNX file is to be written or run, and the library for it is not installed."""


def import_onnx() -> Any:
    """Return the library that writes the files, with its parts loaded."""
    for part in ("onnx.helper", "onnx.numpy_helper", "onnx.checker"):
        _import(part)
    return _import("onnx")


def import_onnxruntime() -> Any:
    """Return the library that runs the files."""
    return _import("onnxruntime")


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        library = name.split(".")[0]
        raise MissingOnnxError(f"This needs {library}: pip install 'pbgnet[onnx]'") from error
