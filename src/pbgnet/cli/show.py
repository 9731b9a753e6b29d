"""``pbgnet show``: what a model in a folder says of itself."""

from pbgnet.cli.console import certificate_numbers, echo, pairs
from pbgnet.cli.folder import load_reading
from pbgnet.cli.options import Debug, Json, Model
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.tables import some

__all__ = ["show"]


@command
def show(model: Model, as_json: Json = False, debug: Debug = False) -> Result:
    """Show the certificate of a model, without verifying it."""
    from pbgnet.certificates import load_model

    loaded = load_model(model)
    reading = load_reading(model, loaded)
    certificate = loaded.certificate
    names = list(loaded.feature_names or ())

    def show_certificate() -> None:
        network = certificate.network
        sizes = "-".join(map(str, (network.n_features, *network.hidden_layer_sizes, 1)))
        echo(certificate.statement)
        echo()
        pairs(certificate_numbers(certificate, loaded.prior_rows.size))
        echo()
        pairs(
            (
                ("classes", f"{loaded.classes[0]!r} and {loaded.classes[1]!r}"),
                ("target", repr(reading.target) if reading.target is not None else "not recorded"),
                ("features", f"{len(names)}: {some(names)}" if names else str(network.n_features)),
                ("network", f"{sizes}{', with intercepts' if network.intercept else ''}"),
                ("prior", f"{certificate.prior.kind}: {certificate.prior.description}".rstrip(": ")),
                ("issued", f"{certificate.issued_at} by pbgnet {certificate.versions.pbgnet}"),
            )
        )
        echo()
        echo("It assumes:")
        for sentence in certificate.assumptions:
            echo(f"  - {sentence}")
        echo()
        echo("Nothing was verified here; pbgnet verify MODEL DATA does that.")

    payload = {
        "certificate": certificate.to_dict(),
        "classes": list(loaded.classes),
        "target": reading.target,
        "features": names,
        "rows": {"prior": int(loaded.prior_rows.size), "certified": int(loaded.certified_rows.size)},
    }
    return Result(payload, show_certificate)
