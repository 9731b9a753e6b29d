"""The routes there are, and what certificates make of them: a new route is a file and a line here."""

from pbgnet.certificates.routes.base import Route
from pbgnet.certificates.routes.betting import Betting
from pbgnet.certificates.routes.catoni_mixture import CatoniMixture
from pbgnet.certificates.routes.chernoff import Chernoff
from pbgnet.certificates.routes.clopper_pearson import ClopperPearson
from pbgnet.certificates.routes.disagreement import Disagreement
from pbgnet.certificates.routes.doubled import Doubled
from pbgnet.certificates.routes.seeger import Seeger
from pbgnet.certificates.routes.vote import Vote

ROUTES: dict[str, Route] = {
    route.name: route
    for route in (
        Seeger(),
        CatoniMixture(),
        Doubled(),
        Vote(),
        ClopperPearson(),
        Chernoff(),
        Betting(),
        Disagreement(),
    )
}

CANDIDATES: dict[str, tuple[tuple[str, str], ...]] = {
    "seeger": (("aggregate", "seeger"), ("vote", "doubled")),
    "mixture": (("aggregate", "catoni-mixture"), ("vote", "doubled")),
    "vote": (("vote", "vote"),),
    "held-out": (("prior's vote", "clopper-pearson"),),
    "held-out loss": (("prior's aggregate", "chernoff"),),
    "held-out bets": (("prior's aggregate", "betting"),),
}
"""Predictors and routes that a certificate of a network may claim together, that to the error rate last. All
of a candidate have the settings of its first. Those that claim no error rate are for comparison only."""

HELD_OUT_LOSS = "betting"
"""The route to the expected loss of a classifier of which nothing is known but its losses."""
