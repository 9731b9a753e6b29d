"""``pbgnet show``: what a certificate in a folder says about itself."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.cli.console import MOST_CLASSES, echo, pairs, show_certificate
from pbgnet.cli.folder import load_reading
from pbgnet.cli.options import Debug, Json, Model
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.tables import some

if TYPE_CHECKING:
    from pbgnet.certificates import CertifiedModel, CertifiedPredictions, Claim
    from pbgnet.report import ErrorCount


@command
def show(model: Model, as_json: Json = False, debug: Debug = False) -> Result:
    """Show the certificate of a model, without verifying it."""
    from pbgnet.certificates import CertifiedModel, load_certified

    loaded = load_certified(model)
    if not isinstance(loaded, CertifiedModel):
        return _show_predictions(loaded, model)
    return _show_model(loaded, model)


def _show_model(loaded: "CertifiedModel", folder: Path) -> Result:
    reading = load_reading(folder, loaded)
    certificate, network = loaded.certificate, loaded.network.architecture
    names = list(loaded.feature_names or ())
    sizes = "-".join(map(str, (network.n_features, *network.hidden_layer_sizes, network.n_outputs)))
    coded = f"; code {loaded.inputs.code.name}" if network.n_outputs > 1 else ""
    prior = certificate.network.prior
    facts = (
        ("labels" if loaded.inputs.has_several_labels else "classes", _classes(loaded)),
        ("target", some(reading.targets, MOST_CLASSES) or "not recorded"),
        ("features", f"{len(names)}: {some(names)}" if names else str(network.n_features)),
        *(() if network.patches is None else (("images", str(network.patches)),)),
        ("network", f"{sizes}{', with intercepts' if network.intercept else ''}{coded}"),
        ("prior", f"{prior.how}: {prior.description}".rstrip(": ")),
        ("issued", f"{certificate.issued_at} by pbgnet {certificate.versions.pbgnet}"),
    )
    payload = {
        "certificate": certificate.to_dict(),
        "classes": list(loaded.classes),
        "targets": list(reading.targets),
        "features": names,
        "rows": {"prior": loaded.prior_rows.size, "certified": loaded.certified_rows.size},
    }
    return _result(loaded, folder, facts, payload)


def _show_predictions(loaded: "CertifiedPredictions", folder: Path) -> Result:
    from pbgnet.certificates import FittedSubject

    certificate = loaded.certificate
    facts = [("labels" if certificate.of_labels else "classes", _classes(loaded))]
    if isinstance(certificate.subject, FittedSubject):
        fit = certificate.subject.fit
        facts.append(("fitted", f"{fit.classifier} of {fit.library}; not stored with the certificate"))
        facts += [("candidate", f"{c.classifier}: {c.n_errors} errors") for c in fit.candidates]
    elif (name := getattr(certificate.subject, "name", None)) is not None:
        facts.append(("classifier", f"{name}; known by its answers, not stored with the certificate"))
    facts.append(("issued", f"{certificate.issued_at} by pbgnet {certificate.versions.pbgnet}"))
    payload: dict[str, Any] = {"certificate": certificate.to_dict(), "classes": list(loaded.classes)}
    return _result(loaded, folder, facts, payload)


def _classes(loaded: "CertifiedModel | CertifiedPredictions") -> str:
    """Name the classes; of many, the first."""
    if len(loaded.classes) == 2:
        return " and ".join(map(repr, loaded.classes))
    return f"{len(loaded.classes)}: {some(loaded.classes, MOST_CLASSES)}"


def _result(
    loaded: "CertifiedModel | CertifiedPredictions",
    folder: Path,
    facts: Iterable[tuple[str, str]],
    payload: dict[str, Any],
) -> Result:
    """Add what is stored beside the certificate: the test set, and other classifiers."""
    from pbgnet.report import Kept

    kept = Kept.of_folder(folder, loaded)
    tested, compared = kept.tested, kept.compared
    payload["delta_plan"] = [share._asdict() for share in loaded.certificate.delta_plan.shares]
    payload["test"] = None if tested is None else tested.payload()
    payload["alternatives"] = None if compared is None else compared.payload()
    counts = None if tested is None else tested.counts
    return Result(payload, lambda: _show(loaded, facts, counts, None if compared is None else compared.named))


def _show(
    model: "CertifiedModel | CertifiedPredictions",
    facts: Iterable[tuple[str, str]],
    tested: "ErrorCount | None" = None,
    others: "Mapping[str, Claim] | None" = None,
) -> None:
    show_certificate(model, tested, others)
    pairs(facts)
    echo()
    certificate = model.certificate
    echo(certificate.yardstick)
    echo()
    plan = certificate.delta_plan
    echo(f"How delta, {plan.delta:g} in total, is divided so that all claims hold at the same time:")
    pairs(plan.lines)
    echo()
    told = {"Predictors:": certificate.predictors, "It assumes:": certificate.assumptions}
    for heading, sentences in told.items():
        echo(heading)
        for sentence in sentences:
            echo(f"  - {sentence}")
    echo()
    echo("These numbers were read, not verified; to verify them, run pbgnet verify MODEL DATA.")
