"""Permutations of rows that are computed place by place."""
