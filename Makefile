# The commands of this project: `make help` lists them. Whatever else is done is a script in the room that it serves.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run watch run-lambda token ops receiver model env install library new-workflow test-workflows quick test test-console test-lambda test-operations test-ministack chaos fuzz fuzz-api sim bench load advisories openapi build preflight deploy redeploy dist image clean

# Passed on to the program that a target starts.
ARGS ?=
# What the Lambda functions are built for: arm64 or x86_64.
ARCH ?= arm64
# Where `make install` puts the programs.
PREFIX ?= $(HOME)/.local
# What `make dist` makes: platforms, lambda-arm64, lambda-x86_64; by default for this machine.
WHAT ?=
# CI must build what was committed.
LOCKED := $(if $(CI),--locked)

# The program. AWS is compiled in where it is asked for, by AWS=yes or for a deployed stage.
AWS ?= $(if $(findstring --deployed,$(value ARGS)),yes)
PROFILE ?= dev
PROGRAMS := $(or $(CARGO_TARGET_DIR),target)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))
BUILD = infra/duckdb/link; cargo build -q --profile $(PROFILE) $(LOCKED) -p millrace $(if $(filter yes,$(AWS)),,--no-default-features)
FUNCTIONS := $(notdir $(wildcard functions/*))
BENCHES := $(basename $(notdir $(wildcard benches/src/bin/*)))

# ---------- use ----------

help: ## List the targets
	@awk -F ':.*## ' '/^# -----/ { gsub(/^# -+ | -+$$/, ""); heading = $$0 } \
		/^[a-z-]+:.*## / { if (heading != "") printf "%s\n", heading; heading = ""; printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Build and start the whole service on this machine (PORT=3000 DATA_DIR=.millrace AWS=yes PROFILE=release CONSOLE=no ARGS="…")
	@$(BUILD); $(if $(filter no,$(CONSOLE)),,MILLRACE_CONSOLE_DIR=$$(infra/console/build); export MILLRACE_CONSOLE_DIR;) \
		exec $(PROGRAMS)/millrace --replace $(ARGS)

watch: ## As `run`, and again at each change of the code; the service is away for a second
	@infra/local/watch $(MAKE) -s run

run-lambda: ## Build and run the Lambda functions in an emulator of AWS (PORT=4566)
	@infra/duckdb/link; cargo build $(LOCKED) -p lambda -p millrace --bins; exec infra/ministack/start $(if $(PORT),--port '$(PORT)') $(ARGS)

token: ## Print an access token for the local service (ACCOUNT= PROJECT= USER_ID= ROLES= PERMISSIONS=)
	@$(BUILD); exec $(PROGRAMS)/millrace ops token $(if $(ACCOUNT),--account '$(ACCOUNT)') $(if $(PROJECT),--project '$(PROJECT)') \
		$(if $(USER_ID),--user-id '$(USER_ID)') $(if $(ROLES),--roles '$(ROLES)') $(if $(PERMISSIONS),--permissions '$(PERMISSIONS)') $(ARGS)

# The shell reads ARGS as it was written; make would expand each `$` in it first.
ops: ## Run the operator command (ARGS="prompt publish …")
	@$(BUILD); exec $(PROGRAMS)/millrace ops $(value ARGS)

receiver: ## A receiver of webhooks to try, on port 4000 (SECRET= of the subscription, ARGS="--port 4001")
	@$(BUILD); exec $(PROGRAMS)/millrace ops receiver $(if $(SECRET),--secret '$(SECRET)') $(ARGS)

model: ## Stand in for a language model, on port 4010, to try agents (ARGS="--port 4011")
	@$(BUILD); exec $(PROGRAMS)/millrace ops model $(ARGS)

env: ## Print API, INGEST and TOKEN of the runner as settings for a shell: eval "$(make -s env)"
	@[ -x $(PROGRAMS)/millrace ] || { $(BUILD); }; exec $(PROGRAMS)/millrace ops env

install: AWS := yes
install: ## Put millrace, with `millrace ops` and completions, on the path (PREFIX=~/.local)
	@$(BUILD); infra/local/install '$(PREFIX)' $(PROGRAMS)

library: ## Fetch DuckDB's library, so that cargo can be used by itself
	@infra/duckdb/link

# ---------- write workflows ----------

new-workflow: ## Write a workflow type to begin with: module, registry line, test, corpus case (NAME=order)
	@python3 -B shared/runs/new/new.py '$(NAME)'

test-workflows: library ## Test the workflow types, and store the histories of new cases
	@CORPUS_WRITE=1 cargo test -q $(LOCKED) --no-fail-fast -p runs $(ARGS)

# ---------- check ----------

quick: library ## Format, Clippy and the unit tests, in two minutes once everything was compiled
	@cargo fmt --all --check; cargo clippy -q $(LOCKED) --workspace --all-targets -- -D warnings
	@if command -v cargo-nextest >/dev/null; then cargo nextest run $(LOCKED) --cargo-quiet --workspace --lib $(ARGS); else cargo test -q $(LOCKED) --workspace --lib $(ARGS); fi

test: ## All of the checks that CI runs, a step each in tests/all
	@tests/all $(LOCKED)

test-console: library ## The console in a browser, whole (CHROMIUM=program ARGS="runs")
	@cargo build -q $(LOCKED) --workspace --bins; infra/console/screens $(ARGS)

test-lambda: library ## The black-box suite against the Lambda functions (CALLS=file records AWS calls, RELEASE=archive)
	@PORT='$(PORT)' CALLS='$(CALLS)' RELEASE='$(RELEASE)' tests/run infra/ministack/test $(ARGS)

test-operations: library ## The restore and the rotation of keys, by the commands of the pages, against the Lambda functions in an emulator
	@cargo build -q $(LOCKED) --workspace --bins; cargo test -q $(LOCKED) -p tests --test programs --no-run
	@infra/ministack/start --port '$(or $(PORT),0)' -- cargo test -q $(LOCKED) -p tests --test programs -- --ignored --test-threads 1 operations::

test-ministack: library ## The adapters of DynamoDB and S3 against an emulator of others
	@cargo test -q $(LOCKED) -p emulators --test ministack --no-run
	@python=$$(infra/tools/python infra/ministack/requirements.txt); python3 -B infra/ministack/adapters.py "$$python/python" cargo test -q $(LOCKED) -p emulators --test ministack $(if $(ARGS),-- $(ARGS))

# The other tests of a kill without and with faults are part of `make test`, with fewer runs and events.
chaos: library ## Kill the service under faults, and check its data (CHAOS_RUNS=2000 EVENTS_CHAOS=10000 CHAOS_SEED=random)
	@cargo build -q $(LOCKED) --workspace --bins
	@export CHAOS_RUNS='$(or $(CHAOS_RUNS),2000)' EVENTS_CHAOS='$(or $(EVENTS_CHAOS),10000)' CHAOS_SEED="$${CHAOS_SEED:-$$RANDOM}"; echo "seed $$CHAOS_SEED"; \
		cargo test -q $(LOCKED) --workspace --test workflows --test events -- --nocapture --test-threads 1 under_faults

fuzz: library ## Fuzz what callers send (FUZZ_SECONDS=60 each, FUZZ_TARGETS="statement schema")
	@tests/fuzz/run $(FUZZ_TARGETS)

# A test does the same with a fixed seed and fewer requests.
fuzz-api: library ## Send what the OpenAPI document allows, and what it forbids (REQUESTS=20000 SEED=random)
	@cargo build -q $(LOCKED) --workspace --bins
	@export API_FUZZ_REQUESTS='$(or $(REQUESTS),20000)' API_FUZZ_SEED="$${SEED:-$$RANDOM}"; echo "seed $$API_FUZZ_SEED"; \
		tests/run cargo test -q $(LOCKED) --workspace --test every_path -- --nocapture fuzz::

sim: ## Simulate the workflow engine under faults (SIM_SEEDS=20000; SIM_SEED=7 tells the story of one)
	@$(if $(SIM_SEED),SIM_SEED=$(SIM_SEED)) SIM_SEEDS=$(or $(SIM_SEEDS),20000) cargo test -q $(LOCKED) --release -p workflow --test simulation every_seed -- --nocapture

bench: library ## Benchmarks, on release builds (ARGS="…")
	@cargo build $(LOCKED) --release --bin millrace --bin emulators $(BENCHES:%=--bin %); cargo build $(LOCKED) --bin millrace
	@cargo build $(LOCKED) --profile lambda -p lambda $(FUNCTIONS:%=--bin %)
	@MILLRACE_CONSOLE_DIR=$$(infra/console/build); export MILLRACE_CONSOLE_DIR; tests/run $(or $(CARGO_TARGET_DIR),target)/release/bench $(ARGS)

load: library ## Load `millrace serve` behind nginx, with a kill and an upgrade in between (ARGS="--seconds 1800 --webhooks 1000 --queries 500" MILLRACE_BIN=program)
	@$(if $(MILLRACE_BIN),,cargo build $(LOCKED) --release -p millrace;) cargo build $(LOCKED) --release -p tests --bin serve_load
	@MILLRACE_BIN=$(or $(MILLRACE_BIN),$(or $(CARGO_TARGET_DIR),target)/release/millrace) tests/run $(or $(CARGO_TARGET_DIR),target)/release/serve_load $(ARGS)

advisories: ## Known vulnerabilities of dependencies; fetches the advisory database
	@"$$(infra/tools/cargo cargo-deny 0.20.2)" $(LOCKED) check --hide-inclusion-graph advisories

openapi: library ## Write infra/openapi.json from the code
	@trap 'rm -f infra/openapi.json.new' EXIT; cargo run -q $(LOCKED) -p local --bin openapi >infra/openapi.json.new; mv infra/openapi.json.new infra/openapi.json

# ---------- deploy ----------

build: ## Build the Lambda functions, and collect them for a deployment (ARCH=arm64 or x86_64)
	@infra/lambda/build $(ARCH) $(LOCKED); infra/sam/sam build

# Reads from AWS what would make a deployment fail, and asks for the parameters that samconfig.toml lacks.
preflight: ## Check that `make deploy` can succeed; changes nothing in AWS (ARGS="…")
	@"$$(infra/tools/python infra/sam/requirements.txt)/python" -B infra/sam/preflight.py $(ARCH) $(ARGS)

# In this order: nothing is built before the checks pass. A release checks itself, and nothing is built.
deploy: $(if $(RELEASE),,preflight build) ## Check, build and deploy; the first time it asks (ARGS: of `sam deploy`, RELEASE=version, archive or folder)
	@$(if $(RELEASE),infra/sam/release '$(RELEASE)' $(ARCH) $(ARGS),infra/sam/check-config $(ARCH) $(ARGS); infra/sam/sam deploy $(ARGS))

# For a rollback from the checkout that deployed the earlier release.
redeploy: preflight ## Deploy once more what this checkout has built, without a build
	@[ -f .aws-sam/build/template.yaml ] || { echo 'redeploy: nothing is built in this checkout; run `make deploy`' >&2; exit 1; }
	@infra/sam/sam deploy $(ARGS)

# ---------- release ----------

dist: ## Build what is shipped into dist (WHAT="linux-x64 linux-arm64 darwin-x64 darwin-arm64 lambda-arm64 lambda-x86_64")
	@infra/dist/make $(WHAT)

image: ## Build the container image of a tarball in dist (TARBALL=dist/millrace-0.1.0-linux-x64.tar.gz ARGS="…")
	@infra/server/image '$(or $(TARBALL),$(wildcard dist/millrace-*-$(shell infra/dist/platform).tar.gz))' $(ARGS)

clean: ## Remove what was built into the checkout; what was fetched stays in the cache
	@rm -rf target .aws-sam dist
