"""The network that ships: one ONNX file and a classifier that runs it, and the sign network run natively."""

from pbgnet.export.classifier import OnnxClassifier
from pbgnet.export.dependency import MissingOnnxError
from pbgnet.export.onnx_file import export_onnx
from pbgnet.export.sign_classifier import SignClassifier

__all__ = ["MissingOnnxError", "OnnxClassifier", "SignClassifier", "export_onnx"]
