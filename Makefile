# The way in: needs Python 3.11, make, git and a package registry; nothing to install first.
#
#   make setup   environment and model      make lint    ruff, mypy, import contracts
#   make demo    see it work                make eval    quality, on DATA or your own data (ARGS=...)
#   make test    prove it works             make bench   latency and throughput (N=..., ARGS=...)
#   make lock    pin every dependency anew  make stubs   protobuf stubs and AsyncAPI document anew
#   make peers   Helix beside other engines, in an environment of their own (ARGS=...)
#   make clean   remove what make made; memories and models stay

VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
DATA ?= ../shared/data

# The first interpreter that runs, is 3.11 and can make an environment.
PYTHON ?= $(shell for p in python3.11 python3 python; do \
  "$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 11))' >/dev/null 2>&1 \
  && echo "$$p" && break; done)

MEMBERS := proto shared services/ingest services/doc2query services/kg services/consolidation \
  services/query services/cli ops/lab
PACKAGES := helix_memory helix_shared helix_ingest helix_doc2query helix_kg helix_consolidation \
  helix_query helix_cli helix_lab
SCRIPTS := ops/closure.py ops/healthy.py ops/settings_table.py ops/demo/sample.py ops/demo/run.py

READY := $(VENV)/.ready
PEERS := .venv-peers
CONTRACT := proto/helix_memory/recall/v1/recall.proto
MANIFEST := shared/helix_shared/artifacts/vectors/manifest.proto

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# A cleared environment may lack HOME; the password database knows it, unless the user has no entry there.
ifeq ($(strip $(HOME)),)
export HOME := $(shell "$(or $(PYTHON),false)" -c 'import os; print(os.path.expanduser("~"))' 2>/dev/null)
ifeq ($(filter /%,$(HOME)),)
export HOME := $(CURDIR)/.home
endif
endif
# The home of `helix up` as well, so that the model is built once and found by both.
HELIX_HOME ?= $(HOME)/.helix
export HELIX_HOME

.PHONY: help setup demo test lint eval bench peers peers-setup peers-lock stubs lock clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   //p' Makefile

setup: $(READY)
	@ls "$(HELIX_HOME)"/models/*/model.json >/dev/null 2>&1 || $(BIN)/helix models build

# --no-deps everywhere: the lock is the whole list, and no resolver may add to it.
$(READY): requirements.lock $(MEMBERS:%=%/pyproject.toml)
	@test -n "$(PYTHON)" || { echo "Python 3.11 was not found; name it: make setup PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation $(MEMBERS:%=-e ./%)
	@touch $@

demo: setup
	$(BIN)/python ops/demo/run.py

# Files are shared out among processes; a process runs all tests of a file, which share what the file starts.
test: setup
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(PACKAGES:%=-p %)
	$(BIN)/mypy $(SCRIPTS)
	$(BIN)/lint-imports

# Without ARGS: all development sets, the parts beside the whole.
eval: setup
	$(BIN)/helix-lab eval $(or $(ARGS),--data $(DATA) --profile dense,bm25,fused,helix --out reports/eval/report.json)

# Data of N memories is built once; the report joins those of other sizes in its folder.
bench: setup
	$(BIN)/helix-lab bench --n $(or $(N),10000) --data $(DATA) --out reports/bench/$(or $(N),10000).json $(ARGS)

peers: setup peers-setup
	$(BIN)/helix-lab peers --python $(PEERS)/bin/python $(ARGS)

# Other engines want other versions than the product does, so they share no environment with it.
peers-setup: $(PEERS)/.ready
$(PEERS)/.ready: ops/lab/peers.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 was not found; name it: make peers-setup PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x $(PEERS)/bin/python || "$(PYTHON)" -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --require-hashes --no-deps -r ops/lab/peers.lock
	@touch $@

# Only what the extra names is resolved, without the workspace's own overrides (--no-config).
peers-lock: setup
	$(BIN)/python -c 'import tomllib; project = tomllib.load(open("ops/lab/pyproject.toml", "rb"))["project"]; \
	  print(*project["optional-dependencies"]["peers"], sep="\n")' \
	  | $(BIN)/uv pip compile - --quiet --no-config --overrides ops/lab/peers.overrides --python-version 3.11 \
	  --python-platform linux --generate-hashes --no-emit-index-url --no-header \
	  --output-file ops/lab/peers.lock $(ARGS) > /dev/null

stubs: setup
	$(BIN)/python -m grpc_tools.protoc -Iproto --python_out=proto --grpc_python_out=proto \
	  --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy --mypy_out=proto \
	  --plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc --mypy_grpc_out=proto $(CONTRACT)
	$(BIN)/python -m grpc_tools.protoc -Ishared --python_out=shared \
	  --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy --mypy_out=shared $(MANIFEST)
	$(BIN)/python -m helix_memory.asyncapi > proto/asyncapi.json

# What is pinned stays pinned; `make lock ARGS=--upgrade` takes the newest of everything.
lock: setup
	$(BIN)/uv pip compile pyproject.toml --quiet --all-extras --group build --group lint --group test --group stubs \
	  --python-version 3.11 --python-platform linux --generate-hashes \
	  --no-emit-index-url --no-header --output-file requirements.lock $(ARGS) > /dev/null
	@awk '/^-e /{member=1; next} member && /^ /{next} {member=0; print}' requirements.lock \
	  > requirements.lock.new && mv requirements.lock.new requirements.lock

clean:
	rm -rf $(VENV) $(PEERS) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
