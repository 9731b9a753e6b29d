"""Writes what files repeat from the program: the table of routes, and the schema of certificates.

    python docs/generated.py

A test compares the files with what this would write.
"""

import json
import re
from pathlib import Path

from pbgnet.certificates import ROUTES, certificate_schema

PROJECT = Path(__file__).parent.parent
BEGIN, END = "<!-- routes: made by docs/generated.py -->\n", "<!-- end of routes -->\n"


def routes_table() -> str:
    """Return the table of routes as the registry has them."""
    rows = ["| route | bounds | of | by |", "|---|---|---|---|"]
    for route in ROUTES.values():
        kept = [name for name in route.predictors if not name.startswith("discarded")]
        quantity = route.quantity if route.any_loss_of is None else f"{route.quantity}, or another loss"
        quantity += ", or the Hamming loss of labels" if route.hamming_loss_of else ""
        rows.append(f"| `{route.name}` | {quantity} | {', '.join(kept)} | {route.summary} |")
    return "\n".join(rows) + "\n"


def generated() -> dict[Path, str]:
    """Return the files that hold generated parts, with what they should contain."""
    page = PROJECT / "docs" / "certificates.md"
    text = re.sub(
        f"{re.escape(BEGIN)}.*?{re.escape(END)}",
        lambda _: BEGIN + routes_table() + END,
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    schema = PROJECT / "src" / "pbgnet" / "certificates" / "format" / "certificate-1.schema.json"
    return {page: text, schema: json.dumps(certificate_schema(), indent=2) + "\n"}


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8", newline="\n")
