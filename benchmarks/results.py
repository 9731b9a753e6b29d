"""The file of results: sections for CPUs, GPUs and many rows, each replaced without touching the others."""

from pathlib import Path

from pbgnet.files import write_whole

__all__ = ["RESULTS", "replace_section"]

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"

HEAD = """\
# Results

`make bench` writes the CPU section, `make bench-gpu` the GPU section and `make bench-scale` the section on
many rows. Each command replaces its own section and leaves the others as they are.

- What is compared runs in turns, A B C, A B C, after a warm-up. A time is the median over the turns. A ratio
  is the median of the ratios of each turn, with its quartiles in brackets. On a busy machine ratios stay
  reliable for longer than times. If the quartiles are wide, trust neither.
- "Exact" is the Fourier aggregation. A "step" is a whole training step: gathering the batch, forward and
  backward pass, the slopes of the bound, Adam.
- Networks are named by their widths: 784-10-1 has 784 inputs, 10 hidden neurons and one output.
"""
SECTIONS = {"cpu": "CPU", "gpu": "GPU", "scale": "Many rows"}
ABSENT = "Not measured yet.\n"


def replace_section(kind: str, text: str, path: Path = RESULTS) -> None:
    """Put a text between the markers of a section; the file is made if there is none, and never half written.

    Parameters
    ----------
    kind : {"cpu", "gpu", "scale"}
    text : str
    path : Path
    """
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    parts = {name: _between(old, name) or ABSENT for name in SECTIONS} | {kind: text}
    sections = [
        f"{_begin(name)}\n## {title}\n\n{parts[name].strip()}\n{_end(name)}\n"
        for name, title in SECTIONS.items()
    ]
    write_whole(path, "\n".join([HEAD, *sections]))


def _begin(kind: str) -> str:
    return f"<!-- begin {kind} -->"


def _end(kind: str) -> str:
    return f"<!-- end {kind} -->"


def _between(text: str, kind: str) -> str:
    """Return the body of a section without its title; empty if there is none."""
    _, found, rest = text.partition(f"{_begin(kind)}\n## {SECTIONS[kind]}\n")
    body, closed, _ = rest.partition(_end(kind))
    return body if found and closed else ""
