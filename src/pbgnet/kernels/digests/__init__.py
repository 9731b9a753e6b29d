"""Digests of many short texts."""
