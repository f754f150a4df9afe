# Every target sets up what it needs by itself; `make` alone lists them.

PYTHON ?= python3
PYTEST_WORKERS ?= 2
ARGS ?=
PART ?= simulation chaos repeats agents coverage bench

VENV := .venv
BENCH_VENV := .venv-bench
LOCK_VENV := .venv-lock
DEMO := build/demo
AGENTS := build/agents
AGENT_CLIS := @anthropic-ai/claude-code@2.1.197 @openai/codex@0.166.0 @google/gemini-cli@0.61.0 opencode-ai@1.18.33
PIP := -m pip --disable-pip-version-check --no-input -qq
SET_UP := PYTHON="$(PYTHON)" sh tests/set_up.sh
# Where the machine's Node is too old, web/build.py has put another into .venv-node.
PYTEST := PATH="$(CURDIR)/.venv-node/bin:$$PATH" $(VENV)/bin/python -m pytest -n $(PYTEST_WORKERS)
SOAK := PITSTOP_TESTS=soak $(PYTEST)
COMPILE := $(LOCK_VENV)/bin/uv pip compile pyproject.toml --upgrade --universal --no-strip-extras --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header --quiet --python $(PYTHON)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help up web demo demo-graph demo-fix test-fast test soak vsix lint format bench lock clean
.PHONY: soak-simulation soak-chaos soak-repeats soak-agents soak-coverage soak-bench

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: $(VENV)/.stamp web ## Start Pitstop and open it in the browser (ARGS="--port 8000")
	@test -d build/examples || { mkdir -p build && cp -R examples build/examples; }  # to be broken and mended there
	@$(VENV)/bin/pitstop up --flows build/examples $(ARGS)

web: ## Build the web application, if its sources have changed
	@$(PYTHON) web/build.py

demo: $(VENV)/.stamp ## Run a pipeline that fails, and see how to debug it
	@rm -rf $(DEMO) && mkdir -p $(dir $(DEMO)) && cp -R examples/broken $(DEMO)
	@$(VENV)/bin/pitstop run $(DEMO)/flow.yaml --workspace $(DEMO) $(ARGS); test $$? -eq 1

demo-graph: $(VENV)/.stamp ## Watch a graph in Python being debugged, step by step
	@$(VENV)/bin/python examples/debug_a_graph.py $(ARGS)

demo-fix: $(VENV)/.stamp ## Watch a fix loop repair a small shop, with a scripted agent
	@rm -rf $(DEMO)-fix && mkdir -p $(dir $(DEMO)) && cp -R examples/fix $(DEMO)-fix
	@cd $(DEMO)-fix && "$(CURDIR)/$(VENV)/bin/pitstop" fix --agent scripted $(ARGS) -- python3 -m unittest -q

test-fast: $(VENV)/.stamp ## Run the tests of the core, which start no processes
	$(PYTEST) --fast $(ARGS)

test: $(VENV)/.stamp ## Run every test that a change must pass (ARGS="tests/web" for a part)
	@$(SET_UP)
	@$(MAKE) --no-print-directory web
	$(PYTEST) --dist loadgroup --no-loadscope-reorder --second-try $(ARGS)

soak: $(VENV)/.stamp ## Repeat tests many times, check coverage, try the benchmarks (PART="simulation chaos" for some)
	@$(SET_UP)
	@$(MAKE) --no-print-directory web
	@$(MAKE) --no-print-directory --keep-going $(PART:%=soak-%)

soak-simulation:
	$(SOAK) -q tests/simulation

soak-chaos:
	$(SOAK) tests/chaos

soak-repeats:
	$(SOAK) -m repeats

soak-agents: # the CLIs of agents take 1.1 GB
	@command -v npm >/dev/null || { echo "the part agents needs npm (Debian, Ubuntu: apt install npm)" >&2; exit 1; }
	@test "$$(cat $(AGENTS)/.stamp 2>/dev/null)" = "$(AGENT_CLIS)" || { echo "installing $(AGENT_CLIS)" && \
		PATH="$(CURDIR)/.venv-node/bin:$$PATH" npm install --prefix $(AGENTS) --no-audit --no-fund --loglevel=error \
		$(AGENT_CLIS) && echo "$(AGENT_CLIS)" > $(AGENTS)/.stamp; }
	$(SOAK) tests/agents/test_real_clis.py tests/agents/test_real_fix_loop.py

soak-coverage:
	$(PYTEST) -q tests/app tests/contracts tests/debugger tests/engine tests/events tests/plan tests/simulation \
		--cov=pitstop.engine --cov=pitstop.debugger --cov-branch --cov-report=json:build/coverage.json
	$(VENV)/bin/python tests/branches_covered.py build/coverage.json

soak-bench: $(BENCH_VENV)/.stamp
	$(VENV)/bin/python bench/quick.py

vsix: editors/vscode/node_modules/.package-lock.json ## Package the VS Code extension
	cd editors/vscode && npm run --silent package

editors/vscode/node_modules/.package-lock.json: editors/vscode/package-lock.json
	cd editors/vscode && npm ci --no-audit --no-fund --loglevel=error

lint: $(VENV)/.stamp ## Check style, formatting, types and the import contracts
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo --cache-dir $(VENV)/import-linter-cache

format: $(VENV)/.stamp ## Format the code
	$(VENV)/bin/ruff check --fix --exit-zero
	$(VENV)/bin/ruff format

bench: $(BENCH_VENV)/.stamp ## Measure against the peers, in a separate environment
	$(BENCH_VENV)/bin/python bench/run.py $(ARGS)

lock: $(LOCK_VENV)/.stamp ## Resolve the dependencies again and write both lock files
	$(COMPILE) --group dev --output-file requirements.lock
	$(COMPILE) --group bench --output-file requirements-bench.lock

clean: ## Remove the environments and everything that was generated
	rm -rf $(VENV) $(BENCH_VENV) $(LOCK_VENV) .venv-node .venv-prefect build dist .coverage .coverage.* htmlcov
	rm -rf src/pitstop/doors/http/web web/node_modules editors/vscode/node_modules
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests examples bench -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# An environment is the lock file and nothing else; pyproject.toml is there for the command and the metadata.
define make_environment
	@$(SET_UP) python3 venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Pitstop needs Python 3.11 or newer, as $(PYTHON) or given with: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) cannot create a virtual environment: install venv (Debian, Ubuntu: apt install python3-venv)," >&2; \
		  echo "or name another Python: make PYTHON=/path/to/python" >&2; exit 1; }
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
endef

define install_locked
	$(make_environment)
	@echo "installing $< into $(@D)"
	@$(@D)/bin/python $(PIP) install --require-hashes -r $<
	@$(@D)/bin/python $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@
endef

$(VENV)/.stamp: requirements.lock pyproject.toml
	$(install_locked)

$(BENCH_VENV)/.stamp: requirements-bench.lock pyproject.toml
	$(install_locked)

$(LOCK_VENV)/.stamp:
	$(make_environment)
	@$(@D)/bin/python $(PIP) install "uv>=0.9"
	@touch $@
