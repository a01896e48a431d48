# What a newcomer needs: `make up` and `make test`. Everything lives in .venv (and node_modules, when node is there).

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
# More flags for `make up`, e.g. ARGS="--ephemeral --port 0"; more for pytest, e.g. TESTS="tests/unit -k pods".
ARGS ?=
TESTS ?= tests
COMPILED := build/compiled
SOURCES = $(shell find src -name '*.py')
# Tests run in so many processes: one more than there are cores, as some tests wait for other processes.
JOBS ?= $(shell echo $$(($$(nproc) + 1)))

.DEFAULT_GOAL := help
.PHONY: help up test node lint docs bench compiled codegen wheel clean

help:
	@echo "make up       start the control plane and say how to reach it (Ctrl-C stops it)"
	@echo "make test     install what the tests need and run them all"
	@echo "make lint     ruff, mypy, import contracts, generated tables up to date, wording, compiled comparisons"
	@echo "make docs     build the documentation site into build/site; warnings are errors"
	@echo "make bench    measure, beside a bare handler in the same run"
	@echo "make compiled build the package with compiled modules, which bench measures and wheels hold"
	@echo "make codegen  generate the schema tables"
	@echo "make wheel    build the package"

up: $(VENV)/.installed
	@exec $(BIN)/steersman up $(ARGS)

# Order of the tests; scripts/flakes.py runs others.
SEED ?= 1
# Bytecode is written, also where PYTHONDONTWRITEBYTECODE is set: tests start hundreds of processes. A worker takes one half
# of the tests in their order, so that most modules, with the servers that their tests share, are run by one worker.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.installed-dev node
	@$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --randomly-seed=$(SEED) $(TESTS)

# The JavaScript client, for one test; without node that test says that it was skipped.
node:
	@if ! command -v node >/dev/null || ! command -v npm >/dev/null; then \
	  echo "node or npm is not on this machine: the test with the JavaScript client will be skipped"; \
	elif [ ! -d node_modules/@kubernetes/client-node ]; then \
	  npm install --no-save --no-package-lock --no-audit --no-fund --loglevel=error --prefix . '@kubernetes/client-node@^1' \
	    || echo "npm could not install @kubernetes/client-node: its test will be skipped"; \
	fi

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m codegen --check
	$(BIN)/python -m scripts.wording
	$(BIN)/python -m scripts.struct_comparisons

# Links between pages, into the API reference and to headings are checked; links to other hosts are not.
docs: export NO_MKDOCS_2_WARNING := 1
docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict
	@echo "the site is in build/site: open build/site/index.html, or run $(BIN)/mkdocs serve"

# Measured is what users get: the modules of every request compiled, where there is a compiler.
bench: export PYTHONPATH := $(COMPILED)
bench: $(VENV)/.installed-dev compiled
	$(BIN)/python -m benchmarks.run $(ARGS)
	$(BIN)/python -m benchmarks.controllers
	$(BIN)/python -m benchmarks.scaling
	$(BIN)/python -m benchmarks.namespaces
	$(BIN)/python -m benchmarks.scheduling
	$(BIN)/python -m benchmarks.whole
	$(BIN)/python -m benchmarks.embedded
	$(BIN)/python -m benchmarks.testkit

# The package as in its wheel for this kind of machine, beside the checkout (docs/decisions/0006).
compiled: $(VENV)/.installed-dev
	@if bash scripts/can_compile.sh $(BIN)/python; then \
	  $(MAKE) --no-print-directory $(COMPILED)/.made; \
	else \
	  rm -rf $(COMPILED); \
	fi

$(COMPILED)/.made: $(SOURCES) pyproject.toml
	@echo "compiling the modules of every request; this takes two minutes"
	@bash scripts/build_compiled.sh $(BIN)/python $(COMPILED)
	@touch $@

codegen: $(VENV)/.installed-dev
	$(BIN)/python -m codegen

# One for every machine and, where there is a compiler, one for machines like this; steersman-slim (docs/decisions/0007) for every machine.
wheel: $(VENV)/.installed-dev compiled
	rm -rf dist
	$(BIN)/python -m build --wheel
	$(BIN)/python -m build --wheel --outdir dist packaging/slim
	@if [ -e $(COMPILED) ]; then cp $(COMPILED)/*.whl dist/; fi

clean:
	rm -rf $(VENV) dist build node_modules

$(VENV)/bin/python:
	@bash scripts/make_venv.sh $(VENV)

# Sources are compiled once, here: compiling them at each start takes longer than the start (and where
# PYTHONDONTWRITEBYTECODE is set, nothing else would).
$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo "installing steersman into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	@echo "installing steersman and what its tests need into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@$(BIN)/python -m compileall -q src
	@touch $@ $(VENV)/.installed

# Apart from what tests need: neither `make test` nor `make lint` needs the site.
$(VENV)/.installed-docs: $(VENV)/bin/python pyproject.toml
	@echo "installing what the documentation site needs into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@
