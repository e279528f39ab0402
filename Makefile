# Every target makes .venv if it is missing, and brings it up to date when pyproject.toml has changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FILM := $(VENV)/.film-installed
DEV := $(VENV)/.dev-installed
STUDIO := $(VENV)/.studio-installed

.PHONY: demo studio test browser bench lint clean

demo: $(FILM)
	$(BIN)/pliant run drop --out out/demo
	@echo "The film is out/demo/drop.mp4, the picture out/demo/drop.png"

studio: $(STUDIO)
	$(BIN)/pliant studio

# One process a core, each of which computes with one thread; tests of threads set their own number.
test: $(DEV) browser
	PLIANT_THREADS=1 $(BIN)/pytest -n auto --dist loadfile

# Chromium for the studio's tests: the one that is there, or Debian's where it may be installed.
browser:
	@sh tools/find_browser.sh

bench: $(DEV)
	$(BIN)/pliant bench springs
	$(BIN)/pliant bench sources

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf out build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find pliant tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(FILM): pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet -e '.[film]'
	@touch $@

$(STUDIO): pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet -e '.[studio]'
	@touch $@ $(FILM)

$(DEV): pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet -e '.[dev]'
	@touch $@ $(FILM) $(STUDIO)
