"""Binary activated networks whose risk comes with a proof.

After Letarte, Germain, Guedj and Laviolette, "Dichotomize and Generalize: PAC-Bayesian Binary
Activated Deep Neural Networks" (2019).

The names most users need are here, and are loaded when first used. `pbgnet.bounds`, `pbgnet.aggregation`,
`pbgnet.networks` and the other subpackages have the rest.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pbgnet.certificates import Certificate as Certificate
    from pbgnet.certificates import certify as certify
    from pbgnet.certificates import certify_by_disagreement as certify_by_disagreement
    from pbgnet.certificates import certify_selective as certify_selective
    from pbgnet.certificates import load_model as load_model
    from pbgnet.certificates import save_model as save_model
    from pbgnet.certificates import verify as verify
    from pbgnet.datasets import load_dataset as load_dataset
    from pbgnet.estimators import CertifiedPipeline as CertifiedPipeline
    from pbgnet.estimators import HeldOutPipeline as HeldOutPipeline
    from pbgnet.estimators import PBGDClassifier as PBGDClassifier
    from pbgnet.estimators import PBGNetClassifier as PBGNetClassifier
    from pbgnet.estimators import PBGNetMultilabelClassifier as PBGNetMultilabelClassifier
    from pbgnet.estimators import make_certified_pipeline as make_certified_pipeline
    from pbgnet.monitoring import ChangeDetector as ChangeDetector
    from pbgnet.monitoring import Monitor as Monitor
    from pbgnet.planning import rows_needed as rows_needed
    from pbgnet.preprocessing import TablePreprocessor as TablePreprocessor

__version__ = "0.1.0"

_ROOMS = {
    "certificates": [
        "Certificate",
        "certify",
        "certify_by_disagreement",
        "certify_selective",
        "load_model",
        "save_model",
        "verify",
    ],
    "datasets": ["load_dataset"],
    "estimators": [
        "CertifiedPipeline",
        "HeldOutPipeline",
        "PBGDClassifier",
        "PBGNetClassifier",
        "PBGNetMultilabelClassifier",
        "make_certified_pipeline",
    ],
    "planning": ["rows_needed"],
    "monitoring": ["ChangeDetector", "Monitor"],
    "preprocessing": ["TablePreprocessor"],
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [*sorted(_ROOM_OF), "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'pbgnet' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"pbgnet.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
