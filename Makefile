# make run: set up and show what gdamn does; make test: set up and run every test. See README.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run setup browser test chaos lint bench clean

run: setup
	@$(BIN)/gdamn demo

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "gdamn needs Python 3.11 or newer; call make with PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 --constraint constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' --constraint constraints.txt
	@touch $(STAMP)

test: setup browser
	$(BIN)/python -m pytest -n auto --dist loadfile

# The tests of the HTML pages use Chromium; they are skipped, with the reason, where there is none.
browser:
	@command -v chromium >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && { apt-get update && apt-get install --yes chromium; } >/dev/null 2>&1; } || \
		echo "There is no Chromium and it can't be installed here: the tests of the pages will be skipped."

# Kills a training run at 100 random moments and compares what it leaves with an undisturbed one; some 20 minutes.
chaos: setup
	$(BIN)/python tests/chaos.py --kills 100

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) build src/*.egg-info
