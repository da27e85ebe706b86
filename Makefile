# On a fresh machine `make run` needs Python 3.11, git and pip's index, and nothing else: without a
# Docker engine the servers are simulated.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_FLAGS ?= lock --recipe fair --time-limit 30

.PHONY: setup run test test-full cases torture lint format bench docs report-picture dist lock clean

setup: $(VENV)/ready
	@$(BIN)/python -m rumpus.harness.docker.image --if-engine

# What the index serves is installed only if it is, to the byte, what the lock names. Nothing is
# resolved, and nothing that is built fetches tools of its own.
INSTALL := $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation
LOCKED := $(INSTALL) --require-hashes --requirement

# The project and its tools in their locked versions; first what builds them.
$(VENV)/ready: pyproject.toml requirements.lock $(wildcard checker/linearizability/windowed_search_c/*)
	$(PYTHON) -m venv $(VENV)
	@sed -n '/^setuptools==/,/[^\\]$$/p' requirements.lock > $(VENV)/builder.lock
	$(LOCKED) $(VENV)/builder.lock
	$(LOCKED) requirements.lock
	$(INSTALL) --editable .
	@touch $@

# The locks anew, from pyproject.toml. Versions stay where they fit; LOCK_FLAGS=--upgrade takes the
# newest, LOCK_FLAGS="--upgrade-package numpy" that of one package.
COMPILE := UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile pyproject.toml --quiet --universal \
	--python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links

lock: $(VENV)/ready
	$(LOCKED) requirements-release.lock
	$(COMPILE) --extra dev --output-file requirements.lock $(LOCK_FLAGS) > /dev/null
	$(COMPILE) --extra release --constraint requirements.lock \
		--output-file requirements-release.lock $(LOCK_FLAGS) > /dev/null
	$(LOCKED) requirements.lock
	$(LOCKED) requirements-release.lock
	$(BIN)/python -m docs.generators.licences_page

run: setup
	$(BIN)/rumpus run $(RUN_FLAGS)

# Without a Docker engine the tests that need one are skipped, or fail with RUMPUS_REQUIRE_DOCKER=1.
# Of large families of parameters a sample is performed, another one for each commit
# (tests/sampling.py). The last lines say what it cost, beside the budget (tests/processor_time.py).
# Four processes keep two cores busy: two of them wait for real servers (tests/distribution.py).
TEST_FLAGS ?= --numprocesses 4 --dist loadfile --no-loadscope-reorder
# Compiled code is kept, whatever the environment says: tests start many processes.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

test: $(VENV)/ready
	@$(BIN)/python -m rumpus.harness.docker.image || test -z "$$RUMPUS_REQUIRE_DOCKER"
	$(PYTEST) $(TEST_FLAGS)

# Every decider of a model against its definition, on 20,000 generated histories each; kazoo's own
# tests on simulated servers (fetched once with pip; skipped where no index answers); every number of
# a docker run of each family counted again; all that somebody else can do to a run's containers;
# older versions of kazoo, which pip fetches; all cases; all recipes of outsiders; further runs on
# real servers; other versions of ZooKeeper and a rolling upgrade; locks on other systems, Curator's
# recipes, and the mutants of both (the first run builds the images); and the
# commands of docs/track-record/claims.md and docs/recipes/as-published.md. Every night (.ci/nightly).
# By default these files perform a sample, or nothing (tests/sampling.py).
SAMPLED = $(sort $(shell grep -rlE 'RUMPUS_FULL_CHECKS|tests\.sampling|crosscheck|hypothesis' \
	--include='test_*.py' tests) $(shell sed -n 's/^ "\(tests[^:]*\)::.*/\1/p' tests/costs.json))

test-full: $(VENV)/ready
	RUMPUS_FULL_CHECKS=$${RUMPUS_FULL_CHECKS:-20000} $(PYTEST) $(SAMPLED) --timeout 3600 $(TEST_FLAGS)

# Every kept case, in two minutes: after a change of what a run does, which `make test` looks at by a
# sample that the next commit changes.
cases: $(VENV)/ready
	RUMPUS_FULL_CHECKS=1 $(PYTEST) tests/rumpus/campaigns/test_kept_cases.py --numprocesses 2

# What bad weather and bad hands can do, at random: interruptions, kills, damaged and forged run
# directories, hostile histories and documents, full disks, closed streams, steps of the clock, faults
# from outside, runs at once, load. Some three hours; prints a table. TORTURE_FLAGS=--help says what
# can be chosen.
torture: setup
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m tests.torture $(TORTURE_FLAGS)

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# BENCH_FLAGS=--quick runs each benchmark at its smallest size; `python -m benchmarks --help`.
bench: setup
	$(BIN)/python -m benchmarks $(BENCH_FLAGS)

# The site, in build/site: open index.html there. A link that leads nowhere is an error.
docs: $(VENV)/ready
	$(BIN)/python -m sphinx -W --keep-going -n -q -E -a -b html -d build/site-trees docs build/site

# The pictures of reports and of nights in the README and on the site; needs chromium or chrome. Look at them before
# a commit.
report-picture: $(VENV)/ready
	$(BIN)/python -m docs.generators.report_picture docs/images/report.png
	$(BIN)/python -m docs.generators.case_picture docs/images/finding-16.png
	$(BIN)/python -m docs.generators.nights_pictures docs/images

# What an index takes, in dist/, with a bill of materials. DIST_FLAGS="--home https://..." says where the repository can be read.
dist: $(VENV)/ready
	$(LOCKED) requirements-release.lock
	$(BIN)/python .ci/distributions.py $(DIST_FLAGS)
	$(BIN)/python -m docs.generators.bill_of_materials dist

clean: $(VENV)/ready
	$(BIN)/rumpus clean
