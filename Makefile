# OpenClawBench. `make help` lists the targets; each of the pipeline's is one call of `openclawbench`, see its --help.
#
#   make demo                                  everything on the committed example
#   make run RAW=sessions ORACLE=outcomes.jsonl
#   make annotate JUDGE=openai MODEL=name
#   make test PYTHON=python3.12                another interpreter
#
# DATA is the folder written to (default: what openclawbench says, `data` or $OPENCLAWBENCH_DATA).

PYTHON ?= python3
VENV ?= .venv
DATA =
RAW =
ORACLE =
JUDGE =
MODEL =
ARGS =

OCB = $(VENV)/bin/openclawbench
READY = $(VENV)/.ready
# There only while the project is installed in place: `pip install .` in this environment puts a copy there instead.
IN_PLACE = $(wildcard $(VENV)/lib/python*/site-packages/__editable__.openclawbench-*)
WHERE = $(if $(DATA),--data "$(DATA)")
INPUT = $(WHERE) $(if $(RAW),--raw "$(RAW)") $(if $(ORACLE),--oracle "$(ORACLE)")
ASK = $(INPUT) $(if $(JUDGE),--judge "$(JUDGE)") $(if $(MODEL),--model "$(MODEL)")
PIP = $(VENV)/bin/python -m pip -qq --disable-pip-version-check
UV = $(VENV)/bin/uv pip --quiet
LOCK = $(UV) compile --universal --generate-hashes --python-version 3.11 --no-header

# What Python has compiled it keeps in the environment's folder: the tests alone start it two hundred times.
PYTHONPYCACHEPREFIX ?= $(abspath $(VENV))/compiled
PYTHONDONTWRITEBYTECODE =
export PYTHONPYCACHEPREFIX PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-all test-collect test-llm test-scout test-exports test-train test-wheel test-browser browser view lint docs bench bench-peers clean normalize enrich fuse slice onset packet \
        annotate stage-a stage-b1 stage-b2 stage-c merge release audit run status schemas certificate lock

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(READY) ## make the virtual environment and install everything, every extra but train, at locked versions

demo: $(READY) ## run every stage on data/example and show what came out
	@$(OCB) demo $(WHERE) $(ARGS)

view: $(READY) ## the workbench in the browser: read trajectories, follow labels to raw lines, give verdicts
	@$(OCB) view $(WHERE) $(ARGS)

test: $(READY) ## pass the tests
	@POLARS_MAX_THREADS=1 $(VENV)/bin/python -m pytest -n 2 --dist worksteal $(ARGS)

test-slow: $(READY) ## the tests that call the program, with its releases, judges, kills and pages
	@$(VENV)/bin/python -m pytest -n 2 --dist loadfile -m "slow and not thorough and not browser" $(ARGS)

test-all: $(READY) ## every test, by night: also damaged sessions by the thousand, every defect alone, properties with more examples
	@HYPOTHESIS_PROFILE=slow $(VENV)/bin/python -m pytest -n 2 --dist loadfile -m "not browser" $(ARGS)

# --ignore-scripts: nothing of the packages runs before the test does.
test-collect: $(READY) ## collect with the real OpenClaw and BFCL; installs both beside the environment first (2 GB)
	@mkdir -p $(VENV)/collect
	@test -x $(VENV)/collect/bfcl/bin/python || "$(PYTHON)" -m venv $(VENV)/collect/bfcl
	@$(VENV)/collect/bfcl/bin/python -m pip -qq --disable-pip-version-check install --no-deps bfcl-eval
	@$(VENV)/collect/bfcl/bin/python -m pip -qq --disable-pip-version-check install $$($(VENV)/bin/python -c 'from openclawbench.collect.bfcl import NEEDED; print(NEEDED)')
	@npm install --silent --prefix $(VENV)/collect/node24 node@24
	@for release in 2026.6.11 2026.9.6; do npm install --silent --prefix $(VENV)/collect/openclaw-$$release --ignore-scripts openclaw@$$release || exit 1; done
	@OPENCLAWBENCH_TEST_COLLECT=$(abspath $(VENV))/collect $(VENV)/bin/python -m pytest -rs tests/collect/test_real_collection.py $(ARGS)

test-llm: $(READY) ## a small language model on this machine as judge; fetches it first (tests/llm/README.md)
	@OPENCLAWBENCH_TEST_LLM=1 $(VENV)/bin/python -m pytest -s tests/llm $(ARGS)

test-scout: $(READY) ## open an export in Inspect Scout with Chromium (Debian: chromium); installs Scout beside the environment
	@test -x $(VENV)/scout/bin/scout || { "$(PYTHON)" -m venv $(VENV)/scout && $(VENV)/scout/bin/python -m pip -qq --disable-pip-version-check install inspect-scout==0.6.1 playwright==1.65.2; }
	@OPENCLAWBENCH_TEST_SCOUT=$(abspath $(VENV))/scout/bin/python OPENCLAWBENCH_BIN=$(abspath $(VENV))/bin $(VENV)/bin/python -m pytest -rs tests/scout $(ARGS)

test-exports: $(READY) ## read exports with Harbor's models and with Pi; downloads both beside the environment (needs node and npm)
	@ls $(VENV)/exports/harbor-*.whl > /dev/null 2>&1 || $(VENV)/bin/python -m pip -qq --disable-pip-version-check download --no-deps --ignore-requires-python --only-binary :all: --dest $(VENV)/exports harbor==0.26.0
	@test -d $(VENV)/exports/node_modules || npm install --silent --no-fund --no-audit --ignore-scripts --prefix $(VENV)/exports @mariozechner/pi-coding-agent@0.73.1
	@OPENCLAWBENCH_TEST_HARBOR=$(abspath $(VENV))/exports OPENCLAWBENCH_TEST_PI=$(abspath $(VENV))/exports $(VENV)/bin/python -m pytest -n 0 -rs tests/exports $(ARGS)

# The extra `train` (1.5 GB and more), pinned in pyproject.toml, in an environment of its own.
test-train: $(READY) ## train a toy detector for real; installs torch, transformers, peft and trl beside the environment first
	@test -x $(VENV)/train/bin/pytest || { "$(PYTHON)" -m venv $(VENV)/train && $(VENV)/train/bin/python -m pip -qq --disable-pip-version-check install -e '.[train]' 'pytest>=9' 'hypothesis>=6.130'; }
	@OMP_NUM_THREADS=1 $(VENV)/train/bin/python -m pytest -rs -m slow tests/detect/test_training_run.py $(ARGS)

test-browser: $(READY) ## the workbench in Debian's headless Chromium (make browser installs it): by keyboard, without script, with axe
	@POLARS_MAX_THREADS=1 $(VENV)/bin/python -m pytest -rs -m browser tests/workbench $(ARGS)

browser: ## install what the tests of the workbench look with: Debian's headless Chromium (as root; nothing where one is there)
	@command -v chromium-headless-shell chromium > /dev/null || { apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium-headless-shell > /dev/null; }

test-wheel: $(READY) ## build the wheel, install it into an empty environment and run it outside the checkout
	@VENV="$(VENV)" .ci/test-wheel

lint: $(READY) ## ruff (lint and format) and mypy
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy

docs: $(READY) ## build the documentation as a site in site/; broken links are errors
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build --strict $(ARGS)
	@echo "docs: open site/index.html, or search in it too: $(VENV)/bin/python -m http.server -d site"

bench: $(READY) ## what ingest, the CPU stages, all of it, a release, asking, and the workbench cost (ARGS="--scale 1": the whole gigabyte)
	@$(OCB) bench ingest $(ARGS)
	@$(OCB) bench stages $(ARGS)
	@$(OCB) bench end-to-end $(ARGS)
	@$(OCB) bench release $(ARGS)
	@$(OCB) bench judge $(ARGS)
	@$(OCB) bench workbench $(ARGS)

bench-peers: $(READY) ## asking beside the tools that do the same, each installed in an environment of its own
	@$(OCB) bench peers $(ARGS)

clean: ## remove the environment, caches and the demo's data; your own data stays
	rm -rf $(VENV) data/demo build dist site *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find pipeline benchmarks tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

normalize: $(READY) ## raw sessions -> trajectories and steps (RAW=dir)
	@$(OCB) normalize $(INPUT) $(ARGS)

enrich: $(READY) ## steps -> event descriptors
	@$(OCB) enrich $(INPUT) $(ARGS)

fuse: $(READY) ## join the task outcomes (ORACLE=path)
	@$(OCB) fuse $(INPUT) $(ARGS)

slice: $(READY) ## process-risk score and slices
	@$(OCB) slice $(INPUT) $(ARGS)

onset: $(READY) ## onset candidates
	@$(OCB) onset $(INPUT) $(ARGS)

packet: $(READY) ## the judge's whole input
	@$(OCB) packet $(INPUT) $(ARGS)

annotate: $(READY) ## FullTax A, B1, B2 and C (JUDGE=rules|openai MODEL=name)
	@$(OCB) annotate $(ASK) $(ARGS)

stage-a: $(READY) ## FullTax A, triage
	@$(OCB) annotate --stage a $(ASK) $(ARGS)

stage-b1: $(READY) ## FullTax B1, subtype
	@$(OCB) annotate --stage b1 $(ASK) $(ARGS)

stage-b2: $(READY) ## FullTax B2, structure
	@$(OCB) annotate --stage b2 $(ASK) $(ARGS)

stage-c: $(READY) ## FullTax C, verification
	@$(OCB) annotate --stage c $(ASK) $(ARGS)

merge: $(READY) ## repairs, quality tiers, one record a trajectory
	@$(OCB) merge $(ASK) $(ARGS)

release: $(READY) ## the release files
	@$(OCB) release $(ASK) $(ARGS)

audit: $(READY) ## draw steps for a person to review, as sheets in review/ (then: openclawbench audit import, audit report)
	@$(OCB) audit sample-events $(WHERE) $(ARGS)

run: $(READY) ## every stage
	@$(OCB) run $(ASK) $(ARGS)

status: $(READY) ## what is there, what is stale, what was rejected and why
	@$(OCB) status $(WHERE) $(ARGS)

schemas: $(READY) ## write schemas/ anew from the records
	@$(VENV)/bin/python -m openclawbench.records.json_schema $(ARGS)

certificate: $(READY) ## let the rules judge sit the exam anew, for the certificate that comes with the program
	@$(VENV)/bin/python -m tools.exam.certificate

lock: $(READY) ## write the lock files anew (ARGS=--upgrade for newer versions)
	@$(LOCK) pyproject.toml $(ARGS) -o requirements.lock > /dev/null
	@$(LOCK) pyproject.toml $(ARGS) --extra dev -o requirements-dev.lock > /dev/null
	@echo uv | $(LOCK) - $(ARGS) -o requirements-setup.lock > /dev/null
	@echo "lock: requirements.lock, requirements-dev.lock and requirements-setup.lock are written"

# A stamp, made when everything is installed; stale when the locked versions or the project's own settings change, and
# where a copy of the project has taken the checkout's place.
# uv (its version and hashes locked too) installs ten times as fast as pip; where it cannot, pip does the same work.
$(READY): requirements-setup.lock requirements-dev.lock pyproject.toml $(if $(IN_PLACE),,not-in-place)
	@command -v "$(PYTHON)" > /dev/null || \
	  { echo "setup: there is no '$(PYTHON)' here. Install Python 3.11 or newer, or name one: make setup PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "setup: '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1), and 3.11 or newer is needed. Name another: make setup PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2> /dev/null || \
	  { echo "setup: '$(PYTHON)' has no venv module. Install it (Debian, Ubuntu: apt install python3-venv) and try again." >&2; exit 1; }
	@echo "setup: $$("$(PYTHON)" -V 2>&1) in $(VENV)"
	@"$(VENV)/bin/python" -m pip --version > /dev/null 2>&1 || "$(PYTHON)" -m venv --clear "$(VENV)"
	@echo "setup: installing the locked packages (once)"
	@{ $(PIP) install --require-hashes -r requirements-setup.lock && \
	  $(UV) install --python $(VENV)/bin/python --require-hashes -r requirements-dev.lock; } 2> /dev/null || \
	  { echo "setup: uv could not install them, pip does (a minute or so)"; \
	    $(PIP) install --require-hashes -r requirements-dev.lock; }
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@
	@echo "setup: done, the command is $(OCB)"

.PHONY: not-in-place
not-in-place: ;
