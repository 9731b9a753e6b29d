"""Which columns matter: how the answers of a network change with each of them."""

from pbgnet.report.columns.effect_charts import effect_sections, points
from pbgnet.report.columns.effects import column_effects

__all__ = ["column_effects", "effect_sections", "points"]
