"""
Verify somebody else's certificate
==================================

You receive a folder with a model, and the table it was made from. Is the certificate true? And would you
notice if someone had changed something?
"""

import json
import shutil
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle
from safetensors.numpy import load_file, save_file
from sklearn.datasets import load_breast_cancer

from pbgnet import PBGNetClassifier, make_certified_pipeline, verify
from pbgnet.certificates import VerificationReport

plt.style.use("pbgnet.pages.gallery")

# %%
# The sender
# ----------
#
# Somebody trains a model, certifies it and hands over the folder.

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
folder = Path(tempfile.mkdtemp())
classifier = PBGNetClassifier(n_members=2, max_epochs=20, random_state=0)
make_certified_pipeline(classifier).fit(X, y).save(folder / "model")
print(sorted(path.name for path in (folder / "model").iterdir()))

# %%
# The auditor
# -----------
#
# You need the folder and the table, nothing else. ``verify`` recomputes every number, and lists what it has
# to take on trust.

honest = verify(folder / "model", X, y)
print(honest.summary)
for step in honest.trusted:
    print(f"On trust: {step.name}")

# %%
# In a notebook, the report is a list with ticks.

honest

# %%
# Four ways to cheat
# ------------------
#
# Someone lowers the bound in the file, changes one weight of the model, flips one label of the table, or
# removes five rows.


def lower_the_bound(model: Path) -> None:
    """Write half of each bound into the certificate."""
    path = model / "certificate.json"
    certificate = json.loads(path.read_text())
    for claim in certificate["claims"]:
        claim["value"] /= 2
    path.write_text(json.dumps(certificate))


def change_a_weight(model: Path) -> None:
    """Change one number of the network."""
    path = next(model.glob("*.safetensors"))
    tensors = load_file(path)
    name = max(tensors, key=lambda key: tensors[key].size if tensors[key].dtype.kind == "f" else 0)
    tensors[name] = tensors[name].copy()
    tensors[name].flat[0] += 0.01
    save_file(tensors, path)


def audit(name: str) -> VerificationReport:
    """Verify a copy of the folder with one thing changed."""
    model = folder / name.replace(" ", "-")
    shutil.copytree(folder / "model", model)
    table, labels = X, y.copy()
    if name == "bound lowered":
        lower_the_bound(model)
    elif name == "weight changed":
        change_a_weight(model)
    elif name == "label flipped":
        labels.iloc[0] = 1 - labels.iloc[0]
    elif name == "rows removed":
        table, labels = X[5:], labels[5:]
    return verify(model, table, labels)


cheats = ["bound lowered", "weight changed", "label flipped", "rows removed"]
reports = {"nothing changed": honest, **{name: audit(name) for name in cheats}}
for name, report in reports.items():
    print(f"{name}: {report.failures[0].detail if report.failures else report.summary}")

# %%
# Each change shows
# -----------------
#
# Every square is one step of the verification: green if it was recomputed and found as stated, red if it
# was not, grey if it has to be taken on trust. ``verify`` stops at the first cause, so the steps after it
# stay pale: they would only repeat that something is wrong.

colours = {"ok": "C5", "failed": "C3", "trusted": "C2", "skipped": "0.92"}
fig, ax = plt.subplots(figsize=(5.2, 3.4))
for row, report in enumerate(reports.values()):
    for column, step in enumerate(sorted(report.steps, key=lambda step: list(colours).index(step.status))):
        ax.add_patch(Rectangle((column, row - 0.4), 0.8, 0.8, color=colours[step.status], linewidth=0))
names = ["recomputed", "not as stated", "on trust", "not checked"]
for colour, label in zip(colours.values(), names, strict=True):
    ax.plot([], [], "s", color=colour, label=label)
ax.set(xlim=(0, max(len(report.steps) for report in reports.values())), xlabel="steps of the verification")
ax.set_yticks(range(len(reports)), list(reports))
ax.set_xticks([])
ax.invert_yaxis()
ax.grid(visible=False)
ax.spines[:].set_visible(False)
caught = sum(not reports[name].ok for name in cheats)
ax.set_title(f"{caught} of {len(cheats)} changes are noticed")
fig.legend(loc="outside lower center", ncols=4, handletextpad=0.1, columnspacing=1.0)
plt.show()

shutil.rmtree(folder)
