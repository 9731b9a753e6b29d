"""Export networks as ONNX files, run them, and run the sign network natively."""

from pbgnet.export.classifier import OnnxClassifier
from pbgnet.export.dependency import MissingOnnxError
from pbgnet.export.onnx_file import export_onnx
from pbgnet.export.sign_classifier import SignClassifier

__all__ = ["MissingOnnxError", "OnnxClassifier", "SignClassifier", "export_onnx"]
