"""Why some numbers differ from the paper's: small experiments, each about one cause (results/differences)."""
