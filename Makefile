# Every target stands on its own: the first one to run makes .venv, later ones find it.
#   make PYTHON=python3.12 test      another interpreter

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
BENCH_INSTALLED := .venv/.installed-bench
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow fuzz lint docs gallery wheel bench clean chromium

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## order for a real bakery chain: learn, promise, test on a year, show why
	@$(BIN)/hedgerow demo

test: $(INSTALLED) chromium ## run the tests that take minutes together, of the library and its studies
	@$(BIN)/python -m pytest -m "not slow"

test-slow: $(INSTALLED) chromium ## run the rest: trainings against the truth, whole studies, killed runs
	@$(BIN)/python -m pytest -m slow

fuzz: $(INSTALLED) ## try ten times as many spoilt files and tables as the tests do
	@HEDGEROW_FUZZ=10 $(BIN)/python -m pytest tests/fuzz

lint: $(INSTALLED) ## check style, formatting, types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports

docs: $(INSTALLED) ## build the site into site/, to be opened from disk
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "The site is in site/: open site/index.html."

gallery: $(INSTALLED) ## run the examples again and keep what they print and draw
	@$(BIN)/python docs/building/gallery.py

wheel: $(INSTALLED) ## build the wheel and try it in clean environments, on every Python from 3.11 on
	@$(BIN)/nox

bench: $(BENCH_INSTALLED) ## run the benchmarks (installs PyTorch for comparison)
	@$(BIN)/python -m benchmarks

clean: ## remove .venv, caches and build products
	@rm -rf .venv .nox build dist site studies/dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find src tests studies benchmarks -type d -name __pycache__ -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml studies/pyproject.toml
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "hedgerow needs Python 3.11 or newer, but '$(PYTHON)' was not found: name one with 'make PYTHON=python3.12'." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "hedgerow needs Python 3.11 or newer, but '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1): name a newer one with 'make PYTHON=python3.12'." >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments: install its venv module (on Debian and Ubuntu, the package python3-venv)." >&2; exit 1; }
	@echo "Installing hedgerow, its studies and development tools into .venv; this happens once."
	@"$(PYTHON)" -m venv .venv
	@$(PIP_INSTALL) -e ".[dev]" -e "./studies[all]"
	@touch $@

# Tests of reports look at them in a browser; where none can be installed, they are skipped.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  as_root=$$([ "$$(id -u)" = 0 ] || echo "sudo -n"); \
	  command -v apt-get >/dev/null && $$as_root true 2>/dev/null && \
	  echo "Installing Chromium for the tests of reports; this happens once." && \
	  $$as_root apt-get update -qq && \
	  $$as_root apt-get install -qq -y --no-install-recommends chromium >/dev/null || \
	  echo "Chromium is not installed, so tests that look at reports in a browser are skipped." >&2; }

$(BENCH_INSTALLED): $(INSTALLED)
	@echo "Installing PyTorch into .venv for the benchmarks; this happens once."
	@$(PIP_INSTALL) -e ".[bench]"
	@touch $@
