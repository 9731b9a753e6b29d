"""The colours of all pages and charts, by purpose, in the light and the dark scheme."""

COLOURS = {
    "paper": ("#ffffff", "#181d26"),
    "ground": ("#f4f5f7", "#10141b"),
    "ink": ("#1b2330", "#e8ebf1"),
    "soft": ("#566073", "#a5afc0"),
    "rule": ("#dde1e8", "#2f3846"),
    "band": ("#f4f6fa", "#1e2530"),
    "certified": ("#1a56b8", "#6ea8ff"),
    "measured": ("#6690d2", "#4f7cc0"),
    "held-out": ("#b45309", "#f0a04b"),
    "trivial": ("#8a93a2", "#727d90"),
    "wrong": ("#b3261e", "#ff8a80"),
    "good": ("#17693b", "#7fd6a2"),
    "good-ground": ("#e7f4ec", "#16291f"),
    "warn": ("#8a4600", "#f5b971"),
    "warn-ground": ("#fdf1e3", "#2d2216"),
    "bad": ("#9b1c14", "#ff9c93"),
    "bad-ground": ("#fde9e7", "#351a18"),
    # Blue and vermilion, which can be told apart with every kind of colour vision.
    "better": ("#005a8c", "#6cbcf0"),
    "worse": ("#a83f00", "#f5a36c"),
}

LIGHT = {name: light for name, (light, _) in COLOURS.items()}
DARK = {name: dark for name, (_, dark) in COLOURS.items()}
