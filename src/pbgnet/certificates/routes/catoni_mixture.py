"""Catoni's bound averaged over several C, on the linear loss of the posterior's aggregate."""

import numpy as np

from pbgnet.bounds import FIXED_GRID, catoni_grid
from pbgnet.certificates.routes.base import Foresight
from pbgnet.certificates.routes.pac_bayes import LossSettings
from pbgnet.certificates.routes.seeger import Seeger


class CatoniMixture(Seeger):
    """As `Seeger`, by the mixture whose trade-offs C the prior rows choose."""

    name = "catoni-mixture"
    summary = (
        "Catoni's bound averaged over several values of C, on the linear loss of the posterior's aggregate"
    )

    def plan(self, foresight: Foresight) -> LossSettings:
        """Choose C for the loss that the prior has on the prior rows."""
        if foresight.losses is None:
            return LossSettings(c=FIXED_GRID)
        risk = float(np.mean(foresight.losses))
        grid = catoni_grid(risk, foresight.divergence, foresight.n, foresight.delta)
        return LossSettings(c=tuple(grid.tolist()))

    def chosen(self, settings: LossSettings) -> tuple[str, ...]:
        """Name the trade-offs."""
        return (f"the {len(settings.c or ())} trade-off values C of the mixture",)

    def words(self, settings: LossSettings) -> str:
        """Name it."""
        return "Catoni's mixture"
