"""The network that ships: one ONNX file, and a classifier that runs it."""

from pbgnet.export.classifier import OnnxClassifier
from pbgnet.export.dependency import MissingOnnxError
from pbgnet.export.onnx_file import export_onnx

__all__ = ["MissingOnnxError", "OnnxClassifier", "export_onnx"]
