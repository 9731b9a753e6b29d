# Set-up is part of every target: `make demo` and `make test` work on a machine that has only
# Python >= 3.11, make and a package index. Stamps in .venv make the second call quick.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Two workers with one thread each beat one worker with two threads on small tensors.
TEST_WORKERS ?= 2
PYTEST_ARGS ?=
# What `make bench` adds to its command: BENCH_ARGS=--quick only sees that everything works.
BENCH_ARGS ?= --write
# Worlds of each kind that `make soundness` draws, and seconds that `make fuzz` takes.
WORLDS ?= 300
SECONDS ?= 300

.DEFAULT_GOAL := help
.PHONY: help demo test bench bench-gpu soundness fuzz lint format clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

demo: $(VENV)/.core ## train, certify and verify a network on data bundled with scikit-learn, and write its report
	$(BIN)/pbgnet demo --out build/demo

test: $(VENV)/.test ## run the whole test suite, the statistical tests included
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(TEST_WORKERS) $(PYTEST_ARGS)

# Room for two threads; each table says how many it uses, single steps one and two, the time to a bound two.
bench: $(VENV)/.test ## measure how fast training is on the CPU, and write benchmarks/RESULTS.md (minutes)
	OMP_NUM_THREADS=2 $(BIN)/python -m benchmarks cpu $(BENCH_ARGS)

bench-gpu: $(VENV)/.test ## the same on a GPU
	$(BIN)/python -m benchmarks gpu $(BENCH_ARGS)

soundness: $(VENV)/.test ## count wrong certificates in worlds whose truth is known; WORLDS=2000 for more (minutes)
	OMP_NUM_THREADS=1 $(BIN)/python -m checks.soundness --worlds $(WORLDS)

fuzz: $(VENV)/.test ## load and verify damaged and forged model folders; SECONDS=3600 for more
	OMP_NUM_THREADS=1 $(BIN)/python -m checks.fuzz --seconds $(SECONDS)

lint: $(VENV)/.lint ## check style (ruff) and types (mypy)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint ## rewrite the sources in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove the virtual environment and everything generated
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.python:
	@test -n "$(PYTHON)" || { echo "No python3 found: install Python 3.11 or newer, or set PYTHON=/path/to/python."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "pbgnet needs Python 3.11 or newer; $(PYTHON) is older. Set PYTHON=/path/to/python."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/.python
	$(PIP) install --quiet --constraint constraints.txt --editable '.[cli]'
	@touch $@

$(VENV)/.test $(VENV)/.lint: $(VENV)/.%: pyproject.toml constraints.txt | $(VENV)/.python
	$(PIP) install --quiet --constraint constraints.txt --editable '.[$*]'
	@touch $@ $(VENV)/.core
