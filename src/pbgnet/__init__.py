"""Binary activated networks whose risk comes with a proof.

After Letarte, Germain, Guedj and Laviolette, "Dichotomize and Generalize: PAC-Bayesian Binary
Activated Deep Neural Networks" (2019).
"""

__version__ = "0.1.0"
