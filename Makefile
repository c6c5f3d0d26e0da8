# The same words as CI uses. Each target first sets up what is missing; nothing else is typed.
#
#   make run              start the server (make run CHINESE=1: with eSpeak NG for Chinese, GPL-3.0)
#   make test             all tests             make unit    the pure and fast ones
#   make check            format, lint, types, layers, spelling; the page: the same, its tests, its build
#   make web              build the page of the console again (src/legato/console/static)
#   make bench            measure               make soak    10,000 streams, a page for minutes: what is left
#   make format           mend what a tool can mend
#   make chaos SEEDS=200  break whole systems at random (FROM=17: from that seed on)
#   make lock             resolve requirements/ again (UPGRADE=1: take newer versions)
#   make proto            generate the protobuf modules again
#   make docs             generate the reference pages of docs/ and the TypeScript types again

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run test unit check bench soak chaos format lock proto docs web cover clean

BIN := .venv/bin
SETUP := scripts/setup.sh
ARGS ?=
SEEDS ?= 200
PYTEST := $(BIN)/python -m pytest
PEERS := .bench-venv/pipecat-1.14.0-socketio-5.7.0

help:
	@sed -n 's/^#   //p' Makefile

run:
	@$(SETUP) run $(if $(CHINESE),espeak)
	@exec $(BIN)/legato serve $(ARGS)

test:
	@$(SETUP) dev espeak
	@$(BIN)/python -m tests.needs
	@scripts/test.sh $(ARGS)

unit:
	@$(SETUP) dev
	$(PYTEST) tests/unit tests/properties -m "not slow and not integration" $(ARGS)

cover:
	@$(SETUP) dev
	$(BIN)/python scripts/own_coverage.py

check:
	@$(SETUP) dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/typos
	@scripts/web.sh check

web:
	@scripts/web.sh build

format:
	@$(SETUP) dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	@scripts/web.sh format

# All rows, and the table in docs/benchmarks.md; make bench ARGS="echo.cpu --json": only what is named.
bench:
	@$(SETUP) dev
	@$(MAKE) --no-print-directory $(PEERS)
	@$(BIN)/python -m tests.needs
	$(BIN)/legato bench $(or $(ARGS),--docs docs/benchmarks.md)

# Each named fault with three seeds, then random schedules; FROM=17 goes on there, without the former.
chaos:
	@$(SETUP) dev
	@$(BIN)/python -m tests.needs
	$(if $(FROM),,FAULT_SEEDS=3 $(PYTEST) tests/faults $(ARGS))
	$(BIN)/python -m tests.faults.chaos --seeds $(SEEDS) --from $(or $(FROM),1)

# What is left of 10,000 streams that were started and dropped; some minutes.
soak:
	@$(SETUP) dev
	@$(BIN)/python -m tests.needs
	$(BIN)/legato bench soak $(ARGS)
	$(PYTEST) tests/browser --opt-in -k minute
	$(BIN)/python -m benchmarks.console --soak

# To be measured against: pipecat (500 MB), and what the stack of benchmarks/peers/articles needs.
# Nothing of ours depends on them. Each comes by itself, so that one that cannot be had costs only
# its own rows; the mark is set when both are there.
PEER_INSTALL := .bench-venv/bin/python -m pip install --quiet --disable-pip-version-check
$(PEERS):
	@echo "legato: installing pipecat and the articles' stack into .bench-venv, to be measured against"
	@rm -rf .bench-venv && $(BIN)/python -m venv .bench-venv
	@all=1; \
	$(PEER_INSTALL) "pipecat-ai[websocket]==1.14.0" uvicorn uvloop httptools || \
		{ all=; echo "legato: pipecat cannot be installed; its rows will say so"; }; \
	$(PEER_INSTALL) -r benchmarks/peers/articles/requirements.txt || \
		{ all=; echo "legato: the articles' stack cannot be installed; its rows will say so"; }; \
	if [ "$$all" ]; then touch $@; fi

lock:
	@$(SETUP) dev
	@scripts/lock.sh $(if $(UPGRADE),--upgrade)

proto:
	@$(SETUP) dev
	$(BIN)/python -m grpc_tools.protoc -I src --python_out=src --pyi_out=src $$(find src -name '*.proto')

docs:
	@$(SETUP) dev
	$(BIN)/python -m scripts.generate_docs
	$(BIN)/python -m scripts.generate_typescript

clean:
	rm -rf .venv .bench-venv .setup.lock .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache web/node_modules
