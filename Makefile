# Set-up is part of every target: `make demo` and `make test` work on a machine that has only
# Python >= 3.11, make and a package index. Stamps in .venv make the second call quick.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Two workers with one thread each beat one worker with two threads on small tensors.
TEST_WORKERS ?= 2
PYTEST_ARGS ?=
LOWEST := .venv-lowest
LOWEST_TESTS := $(addprefix tests/,cli export preprocessing report golden estimators/test_sparse_rows.py \
	certificates/test_store.py test_files.py test_records.py test_lowest.py)
# What `make bench` adds to its command: BENCH_ARGS=--quick only sees that everything works.
BENCH_ARGS ?= --write
# Worlds of each kind that `make soundness` draws, and seconds that `make fuzz` takes.
WORLDS ?= 300
SECONDS ?= 300
# Where a tag is released, such as v0.1.0: `make release-check` then compares it with the version.
TAG ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-lowest bench bench-gpu bench-scale bench-tables soundness fuzz docs release-check lint format clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

demo: $(VENV)/.core ## train, certify and verify a network on data bundled with scikit-learn, and write its report
	$(BIN)/pbgnet demo --out build/demo

test: $(VENV)/.test ## run the whole test suite, the statistical tests included
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(TEST_WORKERS) $(PYTEST_ARGS)

# The stated minimum versions, in an environment of their own, with the tests that meet other libraries most.
# Deprecations are no errors here: those of an old library in what it brings along are not ours.
test-lowest: $(LOWEST)/.test ## run the quick part of the suite with the lowest versions pyproject.toml allows
	PBGNET_LOWEST=1 OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n $(TEST_WORKERS) -m 'not statistical' \
		-W default::DeprecationWarning $(LOWEST_TESTS) --ignore tests/cli/test_certificate_study.py $(PYTEST_ARGS)

# Room for two threads; each table says how many it uses, single steps one and two, the time to a bound two.
bench: $(VENV)/.test ## measure how fast training is on the CPU, and write benchmarks/RESULTS.md (minutes)
	OMP_NUM_THREADS=2 $(BIN)/python -m benchmarks cpu $(BENCH_ARGS)

bench-gpu: $(VENV)/.test ## the same on a GPU
	$(BIN)/python -m benchmarks gpu $(BENCH_ARGS)

# Files of some gigabytes are made in the folder of temporary files, and removed.
bench-scale: $(VENV)/.test ## measure tables of up to ten million rows (an hour), and write the section of benchmarks/RESULTS.md
	OMP_NUM_THREADS=2 $(BIN)/python -m benchmarks scale $(BENCH_ARGS)

soundness: $(VENV)/.test ## count wrong certificates in worlds whose truth is known; WORLDS=2000 for more (minutes)
	OMP_NUM_THREADS=1 $(BIN)/python -m checks.soundness --worlds $(WORLDS)

fuzz: $(VENV)/.test ## load and verify damaged and forged model folders; SECONDS=3600 for more
	OMP_NUM_THREADS=1 $(BIN)/python -m checks.fuzz --seconds $(SECONDS)

bench-tables: $(VENV)/.test ## compare the default classifier with others on ordinary tables, and write results/tables (an hour)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.accuracy $(BENCH_TABLES_ARGS)

docs: $(VENV)/.docs ## build the site into build/docs, run its examples and check its links; warnings are errors
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -b html -W --keep-going --quiet docs build/docs
	$(BIN)/python docs/check_pages.py build/docs

release-check: $(VENV)/.release ## build wheel and sdist into dist/, check them, and run the demo from the wheel alone
	$(BIN)/python -m checks.release $(if $(TAG),--tag $(TAG))

lint: $(VENV)/.lint ## check style (ruff) and types (mypy)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint ## rewrite the sources in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove the virtual environment and everything generated
	rm -rf $(VENV) $(LOWEST) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/gallery
	find docs -name generated -type d -prune -exec rm -rf {} +
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

$(VENV)/.test $(VENV)/.lint $(VENV)/.docs $(VENV)/.release: $(VENV)/.%: pyproject.toml constraints.txt | $(VENV)/.python
	$(PIP) install --quiet --constraint constraints.txt --editable '.[$*]'
	@touch $@ $(VENV)/.core

$(LOWEST)/.test: pyproject.toml constraints.txt tests/lowest.py | $(VENV)/.python
	$(BIN)/python -m venv --clear $(LOWEST)
	$(BIN)/python tests/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip --disable-pip-version-check install --quiet --constraint $(LOWEST)/lowest.txt --editable '.[test]'
	@touch $@
