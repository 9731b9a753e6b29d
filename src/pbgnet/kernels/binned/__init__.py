"""The first layer on binned rows, by look-up instead of multiplication: see `binned_torch`."""
