"""Checks of the guarantee and of the files that grow with the time they are given: see the Makefile."""
