# The one door to this repository: people and CI run the same targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON := .venv/bin/python
PYTEST := $(PYTHON) -m pytest
# Handwritten Python; generated code is checked for drift instead.
SOURCES := server guest_agent sdk/python/sandbox_sdk sdk/python/sandbox_mcp tools tests $(wildcard broker)
# Black-box tests by people who did not write this project, where they are at hand.
export CONFORMANCE_DIR ?= ../shared/conformance
# What set-up installed because the machine had it not; the machine's own comes first.
export PATH := $(PATH):$(CURDIR)/.tools/bin

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install everything this repository needs (Debian packages, uv, .venv)
	@tools/setup/setup.sh

.PHONY: demo
demo: setup ## build a template, start the engine, run a command in a VM
	@$(PYTHON) -m tools.demo

.PHONY: check
check: lint types layers check-gen rules ## every check that starts no VM: the five below

.PHONY: lint
lint: setup ## ruff: lint and format
	@.venv/bin/ruff check -q --output-format concise .
	@.venv/bin/ruff format -q --check .

.PHONY: types
types: setup ## mypy --strict
	@.venv/bin/mypy $(SOURCES)

.PHONY: layers
layers: setup ## import-linter: who may import whom
	@.venv/bin/lint-imports --no-logo >.cache/layers.log 2>&1 || { cat .cache/layers.log; exit 1; }

.PHONY: check-gen
check-gen: setup ## generated code is what the protos say; protos are clean and compatible
	@$(PYTHON) -m tools.codegen --check

.PHONY: rules
rules: setup ## rules of this repository, as tests
	@$(PYTEST) -q tests/repo tests/docs/test_examples.py

.PHONY: test
test: lint types layers check-gen conformance-at-hand ## the whole suite: the checks, then every test
	@$(PYTHON) -m tools.lanes

.PHONY: conformance-at-hand
conformance-at-hand:
	@if [ -d "$(CONFORMANCE_DIR)" ]; then :; \
	elif [ "$(CI)" = true ]; then echo "no conformance tests at $(CONFORMANCE_DIR)"; exit 1; \
	else echo "no conformance tests at $(CONFORMANCE_DIR): the suite runs without them"; fi

.PHONY: test-snapshots
test-snapshots: setup ## what is saved, woken, forked and branched, alone
	@$(PYTEST) tests/snapshots tests/engine/vmm

.PHONY: test-c
test-c: setup ## the C and C++ libraries' tests alone
	@$(PYTEST) $(wildcard tests/sdk_c tests/sdk_cpp)

.PHONY: test-sdks
test-sdks: setup ## every SDK: its own tests, and the scenario they all play
	@$(PYTEST) $(wildcard tests/conformance tests/sdk_python tests/sdk_languages tests/mcp)

.PHONY: fuzz
fuzz: setup ## fuzz the C library's session, for FUZZ_SECONDS (300)
	@$(MAKE) -C tests/sdk_c/c FLAVOUR=fuzz CC=clang fuzz
	@mkdir -p build/fuzz-found
	@build/tests/sdk_c/fuzz/session_fuzz -max_total_time=$(or $(FUZZ_SECONDS),300) \
	  build/fuzz-found tests/sdk_c/c/corpus

.PHONY: test-node-client
test-node-client: setup conformance-at-hand ## the node API's public client against a real node
	@$(PYTEST) tests/system/node/test_public_client.py

.PHONY: test-control-plane
test-control-plane: setup conformance-at-hand ## workspaces and the HTTP control plane alone
	@$(PYTEST) tests/workspaces tests/control_plane

REST := tenants previews environment metadata usage volumes live_volumes volumes_killed rest_statuses archive
.PHONY: test-node-rest
test-node-rest: setup conformance-at-hand ## tenants, previews, environment, metadata and volumes, alone
	@$(PYTEST) $(wildcard $(REST:%=tests/engine/node/test_%.py) $(REST:%=tests/system/node/test_%.py)) \
	  $(wildcard tests/guest/test_metadata.py tests/cli/test_usage.py) \
	  tests/system/node/test_public_client.py::test_the_rest_of_one_node

.PHONY: test-broker
test-broker: setup ## egress alone: the broker, its authority, the doors of real guests
	@$(PYTEST) tests/broker tests/egress

.PHONY: bench
bench: setup ## measure, and put the table into README.md and results/
	@$(PYTHON) -m tests.bench

.PHONY: codegen
codegen: setup ## write the generated code anew
	@$(PYTHON) -m tools.codegen
	@$(PYTHON) -m tools.diagram
	@$(PYTHON) -m sandbox_api openapi >docs/control-plane.openapi.json

.PHONY: fmt
fmt: setup ## format, and mend what the linter can mend
	@.venv/bin/ruff check -q --fix . ; .venv/bin/ruff format -q .

.PHONY: clean
clean: ## remove what builds and tests left, caches and environments included
	@rm -rf .venv .tools .cache build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	  .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
