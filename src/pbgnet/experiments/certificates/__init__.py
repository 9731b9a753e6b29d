"""All certificates for a split of the paper's data, and the page that shows them."""

from pbgnet.experiments.certificates.bounds_table import CertificateSettings, certify_split
from pbgnet.experiments.certificates.page import Circumstances, certificate_page

__all__ = [
    "CertificateSettings",
    "Circumstances",
    "certificate_page",
    "certify_split",
]
