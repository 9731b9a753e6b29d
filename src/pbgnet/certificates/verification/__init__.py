"""Recomputing what a certificate says, step by step."""

from pbgnet.certificates.verification.report import VerificationReport, VerificationStep, verify

__all__ = ["VerificationReport", "VerificationStep", "verify"]
