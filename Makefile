# make run: set up and show what gdamn does; make test: set up and run every test. See README.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
STAMP := $(VENV)/.installed

.PHONY: run setup browser test search chaos load fuzz lint docs audit bench matrix release clean

run: setup
	@$(BIN)/gdamn demo

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
		{ echo "constraints.txt is for Python 3.11; call make with PYTHON=/path/to/python3.11, or use pip install ."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 --constraint constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' --constraint constraints.txt
	@touch $(STAMP)

test: setup browser
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

# The properties (hypothesis) with new random examples: run it now and then, and keep what it finds as an @example.
search: setup
	HYPOTHESIS_PROFILE=search $(BIN)/python -m pytest $$(grep -rlE '^(from|import) hypothesis' tests --include='test_*.py')

# The tests of the HTML pages use Chromium; they are skipped, with the reason, where there is none.
browser:
	@command -v chromium >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && { apt-get update && apt-get install --yes chromium; } >/dev/null 2>&1; } || \
		echo "There is no Chromium and it can't be installed here: the tests of the pages will be skipped."

# Kills train, compare, tune and reproduce at 100 random moments and compares what they leave with undisturbed runs;
# 10 to 20 minutes.
chaos: setup
	$(BIN)/python tests/chaos.py --kills 100

# 1,000 fits in one process: memory and open files must not grow, and each must end as it does on its own; for the night.
load: setup
	$(BIN)/python tests/load.py --fits 1000 --fresh 20

# Fuzzes every reader of files for MINUTES in all, spread over the targets; what it finds is in build/fuzz/found.
MINUTES ?= 10
SEED ?= 1
fuzz: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,fuzz]' --constraint constraints.txt
	$(BIN)/python tests/fuzz/run.py --minutes $(MINUTES) --seed $(SEED)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --recursive src --configfile pyproject.toml

# The site of docs/ with warnings as errors, in build/site; it runs both notebooks, and a short
# fit for the sample report.
docs: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]' --constraint constraints.txt
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Asks PyPI for known vulnerabilities of the versions that are installed; needs the network.
audit: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,audit]' --constraint constraints.txt
	$(BIN)/pip-audit --disable-pip --no-deps --requirement constraints.txt

bench: setup
	$(BIN)/python benchmarks/run.py

# The fast tests on Python 3.10 to 3.13, each with the oldest and the newest packages; writes docs/tested.json and the
# table of docs/evidence/install.md. Downloads gigabytes; MATRIX='--pythons 3.12 --sets oldest' does a part.
matrix:
	$(PYTHON) .ci/matrix.py $(MATRIX)

# Builds wheel and sdist, checks them, and tries the wheel in an empty environment; uploads nothing.
release: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,release]' --constraint constraints.txt
	$(BIN)/python .ci/release.py

clean:
	rm -rf $(VENV) build dist src/*.egg-info
