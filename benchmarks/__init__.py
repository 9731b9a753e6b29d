"""How fast the package is, measured against plain PyTorch on the same machine: ``python -m benchmarks``."""
