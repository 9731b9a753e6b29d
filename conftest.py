"""What pytest has to know before it looks for tests."""

import importlib.util

# Doctests are collected from the sources; these need Triton, which only machines with a GPU have.
collect_ignore_glob = [] if importlib.util.find_spec("triton") else ["src/pbgnet/kernels/*_triton.py"]
