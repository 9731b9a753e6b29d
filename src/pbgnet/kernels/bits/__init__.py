"""Layers that read signs, eight of them in a byte: see `bits_torch`."""
