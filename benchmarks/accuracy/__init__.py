"""How good the certified classifier is on ordinary tables, beside what else a user could pick."""
