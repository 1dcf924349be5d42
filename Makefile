# README's commands. Everything runs in one virtual environment: make test VENV=.venv-other
# Your own PyTorch: install it into $(VENV) first (it is kept), or name it: make demo TORCH="torch"

VENV  ?= .venv
TORCH ?= torch==2.13.0
# The first Python that is new enough.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
HANDBOOK := examples/handbook
QUESTION ?= Which languages does the designer of the Tindra radio speak?

# What `make eval` measures. It takes hours and can be interrupted: it goes on where it stopped. -j2 uses two cores.
EVAL := runs/eval
N ?= 500
EVAL_SETS ?= single two_hop not_stated single_templates list number recency chain pronoun same_as correction \
	counterfactual order long
CACHES := none prefix dual dllm window

.PHONY: help demo test lint bench bench-registry bench-replay bench-loading bench-batch bench-agents bench-kernels \
	eval eval-caches eval-tune

help:
	@echo "make demo    ask the handbook twice: the first run builds the cache, the second uses it"
	@echo "make test    run the tests"
	@echo "make lint    ruff and mypy"
	@echo "make bench   time refreshes with and without reuse"
	@echo "make bench-registry   time the affix registry beside plain files; errors of the codecs"
	@echo "make bench-loading   time and peak memory of loading 0.9 B parameters in shards, two networks"
	@echo "make bench-replay     seconds saved by LRU, LFU and GDSF on a skewed trace"
	@echo "make bench-batch   time a batch of questions with and without reuse, nano and 138 M random weights"
	@echo "make bench-agents   time a team of agents with and without reuse"
	@echo "make bench-kernels   time the attention kernels on a GPU: Triton, FlexAttention, plain"
	@echo "make eval    accuracy of every criterion and budget on generated questions (hours; resumes)"

# Uses the default store, so that a second `make demo` finds everything on disk.
demo: $(BIN)/.installed
	@for run in "Ask" "Ask again: what was encoded comes from disk"; do \
		printf '\n== %s\n' "$$run"; \
		$(BIN)/ragcache ask "$(QUESTION)" --docs $(HANDBOOK) || exit; \
	done

test: $(BIN)/.installed-dev
	$(BIN)/python -m pytest -m "not gpu and not slow"

lint: $(BIN)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict

bench: $(BIN)/.installed
	$(BIN)/python -m benchmarks.refresh

bench-registry: $(BIN)/.installed
	$(BIN)/python -m benchmarks.registry

bench-loading: $(BIN)/.installed-dev
	$(BIN)/python -m benchmarks.loading
	$(BIN)/python -m benchmarks.loading --family diffusion_gemma

bench-replay: $(BIN)/.installed
	$(BIN)/python -m benchmarks.replay

bench-batch: $(BIN)/.installed
	$(BIN)/python -m benchmarks.batch
	$(BIN)/python -m benchmarks.batch --model random --questions 20

bench-agents: $(BIN)/.installed-dev
	$(BIN)/python -m benchmarks.agents

bench-kernels: $(BIN)/.installed-dev
	$(BIN)/python -m benchmarks.kernels

eval: $(EVAL_SETS:%=$(EVAL)/%.json) eval-caches eval-tune
	$(BIN)/python -m benchmarks.results criteria $(EVAL) --html $(EVAL)/index.html

eval-caches: $(CACHES:%=$(EVAL)/caches/%.json)
	$(BIN)/python -m benchmarks.results caches $(EVAL)/caches

# The cheapest policy that is safe on the handbook's questions, and whether it is on others.
eval-tune: export RAGCACHE_PROFILES = $(EVAL)/profiles
eval-tune: | $(BIN)/.installed-dev
	@mkdir -p $(EVAL)/tuned
	$(BIN)/ragcache tune --questions $(HANDBOOK)-tuning.jsonl --docs $(HANDBOOK) \
		--journal $(EVAL)/tuned/handbook.jsonl --html $(EVAL)/tuned/handbook.html
	$(BIN)/ragcache eval --questions $(HANDBOOK)/questions.jsonl --docs $(HANDBOOK) --policy full,auto \
		--journal $(EVAL)/tuned/confirm.jsonl --out $(EVAL)/tuned/confirm.json
	$(BIN)/ragcache eval --dataset single --dataset two_hop --n $(N) --policy full,auto \
		--journal $(EVAL)/tuned/others.jsonl --out $(EVAL)/tuned/others.json

# Figures of other weights are measured anew; the journals then ask to be deleted.
$(EVAL)/%.json: ragcache/model/nano/model.safetensors | $(BIN)/.installed-dev
	@mkdir -p $(@D)
	$(BIN)/ragcache eval --dataset $* --n $(N) --policy "$$($(BIN)/python -m benchmarks.results policies)" \
		--journal $(EVAL)/$*.jsonl --out $@

$(EVAL)/caches/%.json: ragcache/model/nano/model.safetensors | $(BIN)/.installed-dev
	@mkdir -p $(@D)
	$(BIN)/ragcache eval --dataset single --dataset two_hop --n $(N) --cache $* \
		--policy full,direct,qa@0.2,acache@0.2 --journal $(EVAL)/caches/$*.jsonl --out $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "ragcache needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# torch alone and first: once it is there, the project's own install leaves it as it is.
$(BIN)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -c "import torch" 2>/dev/null || $(PIP) install "$(TORCH)"
	$(PIP) install -e .
	@touch $@

$(BIN)/.installed-dev: $(BIN)/.installed
	$(PIP) install -e ".[dev]"
	@touch $@
