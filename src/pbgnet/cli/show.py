"""``pbgnet show``: what a certificate in a folder says of itself."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.cli.console import certificate_bars, certificate_numbers, echo, pairs
from pbgnet.cli.folder import load_reading
from pbgnet.cli.options import Debug, Json, Model
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.tables import some
from pbgnet.cli.tested import Tested, load_test_set

if TYPE_CHECKING:
    from pbgnet.certificates import Certificate, CertifiedModel, CertifiedPredictions

__all__ = ["show"]


@command
def show(model: Model, as_json: Json = False, debug: Debug = False) -> Result:
    """Show the certificate of a model, without verifying it."""
    from pbgnet.certificates import CertifiedModel, load_certified

    loaded = load_certified(model)
    if not isinstance(loaded, CertifiedModel):
        return _show_predictions(loaded)
    return _show_model(loaded, model)


def _show_model(loaded: "CertifiedModel", folder: Path) -> Result:
    reading, tested = load_reading(folder, loaded), load_test_set(folder, loaded)
    certificate, network = loaded.certificate, loaded.network.architecture
    names = list(loaded.feature_names or ())
    sizes = "-".join(map(str, (network.n_features, *network.hidden_layer_sizes, 1)))
    prior = certificate.prior
    assert prior is not None
    facts = (
        ("classes", f"{loaded.classes[0]!r} and {loaded.classes[1]!r}"),
        ("target", repr(reading.target) if reading.target is not None else "not recorded"),
        ("features", f"{len(names)}: {some(names)}" if names else str(network.n_features)),
        ("network", f"{sizes}{', with intercepts' if network.intercept else ''}"),
        ("prior", f"{prior.kind}: {prior.description}".rstrip(": ")),
        ("issued", f"{certificate.issued_at} by pbgnet {certificate.versions.pbgnet}"),
    )
    payload = {
        "certificate": certificate.to_dict(),
        "classes": list(loaded.classes),
        "target": reading.target,
        "features": names,
        "rows": {"prior": int(loaded.prior_rows.size), "certified": int(loaded.certified_rows.size)},
        "test": None if tested is None else {"rows": tested.n_rows, "errors": tested.n_errors},
    }
    return Result(payload, lambda: _show(certificate, facts, int(loaded.prior_rows.size), tested))


def _show_predictions(loaded: "CertifiedPredictions") -> Result:
    certificate = loaded.certificate
    facts = (
        ("classes", ", ".join(map(repr, loaded.classes))),
        ("issued", f"{certificate.issued_at} by pbgnet {certificate.versions.pbgnet}"),
    )
    payload: dict[str, Any] = {"certificate": certificate.to_dict(), "classes": list(loaded.classes)}
    return Result(payload, lambda: _show(certificate, facts, 0, None, len(loaded.classes)))


def _show(
    certificate: "Certificate",
    facts: tuple[tuple[str, str], ...],
    n_prior_rows: int,
    tested: Tested | None,
    n_classes: int = 2,
) -> None:
    echo(certificate.statement)
    echo()
    pairs(certificate_numbers(certificate, n_prior_rows))
    echo()
    test = (None, None) if tested is None else (tested.error_rate, tested.n_rows)
    certificate_bars(certificate, *test, n_classes=n_classes)
    echo()
    pairs(facts)
    echo()
    echo("Predictors:")
    for sentence in certificate.predictors:
        echo(f"  - {sentence}")
    echo("It assumes:")
    for sentence in certificate.assumptions:
        echo(f"  - {sentence}")
    echo()
    echo("Nothing was verified here; pbgnet verify MODEL DATA does that.")
