# On a fresh machine `make run` needs Python 3.11, git and pip's index, and nothing else: without a
# Docker engine the servers are simulated.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_FLAGS ?= lock --recipe fair --time-limit 30

.PHONY: setup run test test-full torture lint format bench docs report-picture dist clean

setup: $(VENV)/ready
	@$(BIN)/python -m rumpus.harness.docker.image --if-engine

# The project and its tools in their pinned versions.
$(VENV)/ready: pyproject.toml constraints.txt $(wildcard checker/linearizability/windowed_search_c/*)
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

run: setup
	$(BIN)/rumpus run $(RUN_FLAGS)

# Without a Docker engine the tests that need one are skipped, or fail with RUMPUS_REQUIRE_DOCKER=1.
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
test-full: $(VENV)/ready
	RUMPUS_FULL_CHECKS=$${RUMPUS_FULL_CHECKS:-20000} \
		$(PYTEST) tests/checker tests/simulation/test_kazoo_suite.py tests/recount \
		tests/docs/test_claims.py tests/docs/test_printed_commands.py \
		tests/docs/test_tutorial.py tests/docs/test_anomalies_page.py tests/docs/test_own_pages.py \
		tests/rumpus/test_other_kazoo.py tests/rumpus/commands/test_run_command.py \
		tests/rumpus/campaigns/test_kept_cases.py tests/test_wheel.py tests/workloads/own \
		tests/simulation/differential tests/conformance tests/rumpus/test_other_systems.py \
		tests/rumpus/test_curator.py tests/harness/docker/test_container_workers.py \
		tests/nemesis/test_real_upgrade.py tests/harness/test_sim_determinism.py \
		tests/test_distributions.py \
		--timeout 3600 $(TEST_FLAGS)

# What bad weather and bad hands can do, at random: interruptions, kills, damaged and forged run
# directories, hostile histories, full disks, closed streams, faults from outside, runs at once.
# About half an hour; prints a table. TORTURE_FLAGS=--help says what can be chosen.
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

# The pictures of reports in the README and on the site; needs chromium or chrome. Look at them before
# a commit.
report-picture: $(VENV)/ready
	$(BIN)/python -m docs.generators.report_picture docs/images/report.png
	$(BIN)/python -m docs.generators.case_picture docs/images/finding-16.png

# What an index takes, in dist/. DIST_FLAGS="--home https://..." says where the repository can be read.
dist: $(VENV)/ready
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --editable '.[release]'
	$(BIN)/python .ci/distributions.py $(DIST_FLAGS)

clean: $(VENV)/ready
	$(BIN)/rumpus clean
