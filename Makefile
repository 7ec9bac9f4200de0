# The commands of this project: `make help` lists them.
#
# Whatever is fetched or compiled lies outside the checkout, in $(CACHE), so that clones share it. Only the Lambda
# binaries are put into the checkout (target/lambda), where template.yaml looks for them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

# ---------- settings: each can be set on the command line or in the environment ----------

CACHE := $(or $(MILLRACE_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/millrace)
# The programs refuse a MILLRACE_ variable that they do not know, and this one is ours.
unexport MILLRACE_CACHE

export CARGO_TARGET_DIR ?= $(CACHE)/target

# Where libduckdb is: fetched into the cache, unless set by hand.
FETCH_DUCKDB := MILLRACE_CACHE='$(CACHE)' infra/duckdb/fetch
DUCKDB_CACHE_DIR := $(shell $(FETCH_DUCKDB) --where)
export DUCKDB_LIB_DIR ?= $(DUCKDB_CACHE_DIR)
export LD_LIBRARY_PATH := $(DUCKDB_LIB_DIR)$(addprefix :,$(LD_LIBRARY_PATH))
# macOS takes DYLD_ variables away from the shell that it starts, so a recipe that starts our programs sets it there.
LOADER := $(if $(filter Darwin,$(shell uname)),export DYLD_FALLBACK_LIBRARY_PATH='$(DUCKDB_LIB_DIR)';)

# What the Lambda functions are built for: arm64 or x86_64.
ARCH ?= arm64
# Passed on to the program that a target starts.
ARGS ?=
# What `make run` and the commands beside it are built as: local, release or dev.
export PROFILE ?= local
# Past this size of the debug builds, their oldest files go.
CACHE_GB ?= 30
# Where `make install` puts the programs.
PREFIX ?= $(HOME)/.local

# CI must build what was committed.
LOCKED := $(if $(CI),--locked)

CARGO_DENY_VERSION := 0.20.2
CARGO_DENY_DIR := $(CACHE)/cargo-deny-$(CARGO_DENY_VERSION)
CARGO_FUZZ_VERSION := 0.13.2
CARGO_FUZZ_DIR := $(CACHE)/cargo-fuzz-$(CARGO_FUZZ_VERSION)
FUZZ := $(CACHE)/fuzz
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= statement names parquet_footer template schema process condition list_filter path page_token ingest_body backup
# Of the fuzzer's address space; past it DuckDB says that it has no memory, as it does in a child.
FUZZ_MEMORY_KB := 8000000
PIP_VERSION := 26.3
TOOLS := $(CACHE)/tools-$(shell cksum <infra/sam/requirements.txt | cut -d ' ' -f 1)
CHECKOV := $(CACHE)/checkov-$(shell cksum <infra/sam/checkov.txt | cut -d ' ' -f 1)
# Programs of others that the tests run against the service: generators of clients, a linter, a fuzzer.
PEERS_PYTHON := $(CACHE)/peers-python-$(shell cksum <tests/peers/python/requirements.txt | cut -d ' ' -f 1)
PEERS_NODE := $(CACHE)/peers-node-$(shell cksum <tests/peers/node/package-lock.json | cut -d ' ' -f 1)
MINISTACK := $(CACHE)/ministack-$(shell cksum <infra/ministack/requirements.txt | cut -d ' ' -f 1)
# The console of `make run`; `no` leaves it out.
CONSOLE ?= yes
BUILD_CONSOLE := MILLRACE_CACHE='$(CACHE)' infra/console/build
# What `make test-lambda` writes the AWS calls of the functions to.
CALLS ?=

PROGRAM := infra/local/program
FUNCTIONS := $(notdir $(patsubst %/Cargo.toml,%,$(wildcard functions/*/Cargo.toml)))
BENCHES := $(basename $(notdir $(wildcard benches/src/bin/*)))
SKIPS := tests/data/ministack-skips.txt
RUN_LAMBDA = '$(TOOLS)/bin/python' infra/ministack/run.py --ministack '$(MINISTACK)/bin/python' --binaries '$(CARGO_TARGET_DIR)/debug' --duckdb '$(DUCKDB_LIB_DIR)' --console "$$($(BUILD_CONSOLE))"

# ---------- use ----------

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^# -----/ { gsub(/^# -+ | -+$$/, ""); heading = $$0 } \
		/^[a-z-]+:.*## / { if (heading != "") printf "%s\n", heading; heading = ""; printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: library ## Build and start the whole service on this machine (PORT=3000 DATA_DIR=.millrace PROFILE=release CONSOLE=no ARGS="…")
	@$(LOADER) millrace=$$($(PROGRAM) --build $(LOCKED)); $(if $(filter no,$(CONSOLE)),,MILLRACE_CONSOLE_DIR=$$($(BUILD_CONSOLE)); export MILLRACE_CONSOLE_DIR;) \
		MILLRACE_LOCAL_TARGETS=true exec "$$millrace" $(ARGS)

# The functions are built as for `make run`, and MiniStack starts them as Lambda does.
.PHONY: run-lambda
run-lambda: duckdb tools $(MINISTACK)/ready ## Build and run the Lambda functions in an emulator of AWS (PORT=4566)
	@cargo build $(LOCKED) -p lambda -p ops --bins
	@exec $(RUN_LAMBDA) $(if $(PORT),--port '$(PORT)') $(ARGS)

# For teams with Docker: the functions in containers, over the tables of a deployed stack. docs/deploy.md
# says what it lacks.
.PHONY: run-sam
run-sam: build sam-build ## Start the API's functions in containers, over a deployed stack (needs Docker; ARGS="--stack-name …")
	@command -v docker >/dev/null || { echo 'run-sam needs Docker; `make run` needs none' >&2; exit 1; }
	@file=$$(mktemp); trap 'rm -f "$$file"' EXIT; '$(TOOLS)/bin/python' -B infra/sam/local_variables.py "$$file" $(ARGS); \
		$(SAM) local start-api --env-vars "$$file" --parameter-overrides Architecture=$(ARCH)

.PHONY: token
token: library ## Print an access token for the local service (ACCOUNT= PROJECT= USER_ID= ROLES= PERMISSIONS=)
	@$(LOADER) ops=$$($(PROGRAM) ops $(LOCKED)); exec "$$ops" token $(if $(ACCOUNT),--account '$(ACCOUNT)') $(if $(PROJECT),--project '$(PROJECT)') \
		$(if $(USER_ID),--user-id '$(USER_ID)') $(if $(ROLES),--roles '$(ROLES)') $(if $(PERMISSIONS),--permissions '$(PERMISSIONS)') $(ARGS)

# The shell reads ARGS as it was written; make would expand each `$` in it first.
.PHONY: ops
ops: library ## Run the operator command (ARGS="prompt publish …")
	@$(LOADER) ops=$$($(PROGRAM) ops $(LOCKED)); exec "$$ops" $(value ARGS)

.PHONY: receiver
receiver: library ## A receiver of webhooks to try, on port 4000 (SECRET= of the subscription, ARGS="--port 4001")
	@$(LOADER) ops=$$($(PROGRAM) ops $(LOCKED)); exec "$$ops" receiver $(if $(SECRET),--secret '$(SECRET)') $(ARGS)

.PHONY: model
model: library ## Stand in for a language model, on port 4010, to try agents (ARGS="--port 4011")
	@$(LOADER) ops=$$($(PROGRAM) ops $(LOCKED)); exec "$$ops" model $(ARGS)

.PHONY: install
install: library ## Put millrace, with `millrace ops` and completions, on the path (PREFIX=~/.local)
	@$(LOADER) infra/local/install '$(PREFIX)' '$(DUCKDB_LIB_DIR)' $(LOCKED)

# ---------- write workflows ----------

.PHONY: new-workflow
new-workflow: ## Write a workflow type to begin with: module, registry line, test, corpus case (NAME=order)
	@python3 -B shared/runs/new/new.py '$(NAME)'

.PHONY: test-workflows
test-workflows: duckdb ## Test the workflow types, and store the histories of new cases
	@$(PROGRAM) --locked cargo test $(LOCKED) -p runs --no-run
	@CORPUS_WRITE=1 cargo test -q $(LOCKED) --no-fail-fast -p runs $(ARGS)

# ---------- check ----------

.PHONY: test
test: trim fmt lint unit check-console doc deny validate ## All of the checks that CI runs: those from here to `validate`

# Before a large build, not after it: what it deletes is older than what the build needs.
.PHONY: trim
trim: ## Delete the oldest debug builds from the shared cache, past CACHE_GB=30
	@python3 -B infra/local/trim.py '$(CARGO_TARGET_DIR)/debug' '$(CACHE_GB)'

.PHONY: fmt
fmt: ## Is the code formatted? (`cargo fmt --all` formats it)
	@echo '== format'
	@cargo fmt --all --check

.PHONY: lint
lint: duckdb ## Clippy on all targets; a warning is an error
	@echo '== clippy'
	@cargo clippy -q $(LOCKED) --workspace --all-targets -- -D warnings

# The examples in the documentation come first and speak only when one fails, so that the tests have the last word.
.PHONY: unit
unit fuzz-api test-lambda: export TOOLS_PYTHON := $(TOOLS)/bin/python
unit fuzz-api test-lambda: export PEERS_PYTHON := $(PEERS_PYTHON)/bin
unit fuzz-api test-lambda: export PEERS_NODE := $(PEERS_NODE)/node_modules
# Tests that show pages to a browser say that they are skipped where there is none.
unit check-console test-console bench: export CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
# Debian's is in a folder that only the administrator has on the path.
unit: export NGINX ?= $(shell PATH="$$PATH:/usr/sbin" command -v nginx)
unit: trim duckdb tools peers ## Unit tests and the black-box suite
	@echo '== tests'
	@cargo build -q $(LOCKED) --workspace --bins
	@$(LOADER) examples=$$(cargo test -q $(LOCKED) --workspace --doc 2>&1) || { echo "$$examples"; exit 1; }
	@$(LOADER) if command -v cargo-nextest >/dev/null; then cargo nextest run $(LOCKED) --workspace $(ARGS); else cargo test $(LOCKED) --workspace --lib --bins --tests -- $(ARGS); fi

# Checkouts share the debug programs, so both build their own first.
.PHONY: check-console
check-console: duckdb ## Types of the console, and a path through each of its screens in a browser
	@echo '== console'
	@$(BUILD_CONSOLE) --modules; cd infra/console; npm run --silent check
	@cargo build -q $(LOCKED) --workspace --bins
	@$(MAKE) -s screens ARGS='--grep @smoke'

.PHONY: test-console
test-console: duckdb ## The console in a browser, whole (CHROMIUM=program ARGS="runs")
	@cargo build -q $(LOCKED) --workspace --bins
	@$(MAKE) -s screens ARGS='$(ARGS)'

.PHONY: screens
screens:
	@if [ -z "$$CHROMIUM" ]; then echo 'The screens of the console are left out: no Chromium is on the path, and CHROMIUM names none.'; else \
		$(LOADER) MILLRACE_CONSOLE_DIR=$$($(BUILD_CONSOLE)); export MILLRACE_CONSOLE_DIR; \
		cd infra/console; MILLRACE_PROGRAMS='$(CARGO_TARGET_DIR)/debug' npx playwright test $(ARGS); fi

# The tests of $(SKIPS) ask for what the emulator cannot do.
.PHONY: test-lambda
test-lambda: duckdb tools peers $(MINISTACK)/ready ## The black-box suite against the Lambda functions (CALLS=file records AWS calls)
	@command -v cargo-nextest >/dev/null || { echo 'make test-lambda needs cargo-nextest, which skips tests by name: cargo install cargo-nextest' >&2; exit 1; }
	@cargo build -q $(LOCKED) --workspace --bins
	@cargo nextest run --cargo-quiet $(LOCKED) -p tests --no-run
	@config=$$(mktemp); trap 'rm -f "$$config"' EXIT; \
		awk 'BEGIN { print "[profile.default]\nfail-fast = false\nslow-timeout = { period = \"60s\", terminate-after = 5 }"; printf "default-filter = \"not (none()" } \
			/^[^#]/ { printf " | (binary(=%s) & test(=%s))", $$1, $$2 } END { print ")\"" }' $(SKIPS) >"$$config"; \
		$(RUN_LAMBDA) --port '$(or $(PORT),0)' $(if $(CALLS),--calls '$(CALLS)') -- cargo nextest run --cargo-quiet $(LOCKED) -p tests --config-file "$$config" $(ARGS)

.PHONY: test-ministack
test-ministack: duckdb $(MINISTACK)/ready ## The adapters of DynamoDB and S3 against an emulator of others
	@cargo test -q $(LOCKED) -p emulators --test ministack --no-run
	@python3 -B infra/ministack/adapters.py '$(MINISTACK)/bin/python' cargo test -q $(LOCKED) -p emulators --test ministack $(if $(ARGS),-- $(ARGS))

# The other tests of a kill without and with faults are part of `make test`, with fewer runs and events.
.PHONY: chaos
chaos: duckdb ## Kill the service under faults, and check its data (CHAOS_RUNS=2000 EVENTS_CHAOS=10000 CHAOS_SEED=random)
	@cargo build -q $(LOCKED) --workspace --bins
	@export CHAOS_RUNS='$(or $(CHAOS_RUNS),2000)' EVENTS_CHAOS='$(or $(EVENTS_CHAOS),10000)' CHAOS_SEED="$${CHAOS_SEED:-$$RANDOM}"; echo "seed $$CHAOS_SEED"; \
		$(LOADER) cargo test -q $(LOCKED) --workspace --test workflows --test events -- --nocapture --test-threads 1 under_faults

.PHONY: doc
doc: duckdb ## Build the documentation of our crates; a warning is an error
	@echo '== documentation'
	@RUSTDOCFLAGS='-D warnings' cargo doc -q $(LOCKED) --workspace --no-deps --document-private-items

.PHONY: deny
deny: $(CARGO_DENY_DIR)/bin/cargo-deny ## Licences, banned crates and sources of all dependencies
	@echo '== dependencies'
	@$< $(LOCKED) --log-level error check --hide-inclusion-graph licenses bans sources

.PHONY: advisories
advisories: $(CARGO_DENY_DIR)/bin/cargo-deny ## Known vulnerabilities of dependencies; fetches the advisory database
	@$< $(LOCKED) check --hide-inclusion-graph advisories

# It ends well where it could not read the template, and tells so in its report alone.
CHECKOV_OPTIONS := --framework cloudformation --skip-download --compact --quiet

# Four gates, because each finds what the others do not. None needs an account.
.PHONY: validate
validate: tools $(CHECKOV)/ready ## Check template.yaml and the checks before a deployment
	@echo '== template'
	@$(SAM) validate 2>&1 | grep -v 'Feature Toggle'
	@$(SAM) validate --lint 2>&1 | grep -v 'Feature Toggle'
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; '$(TOOLS)/bin/python' infra/sam/translate.py template.yaml "$$folder"; \
		'$(TOOLS)/bin/cfn-lint' "$$folder/translated.json"; echo 'What the template translates to has no fault that cfn-lint knows.'; \
		report=$$('$(CHECKOV)/bin/checkov' -f "$$folder/template.json" $(CHECKOV_OPTIONS)) || { echo "$$report"; exit 1; }; \
		sed '/^$$/d; s/^cloudformation scan results:/checkov:/' <<<"$$report"; [[ $$report != *'Parsing errors'* ]]
	@cd infra/sam; tests=$$('$(TOOLS)/bin/python' -B -m unittest 2>&1) || { echo "$$tests"; exit 1; }; echo 'The checks before a deployment pass their tests.'

.PHONY: openapi
openapi: duckdb ## Write infra/openapi.json from the code
	@trap 'rm -f infra/openapi.json.new' EXIT; $(LOADER) cargo run -q $(LOCKED) -p local --bin openapi >infra/openapi.json.new; mv infra/openapi.json.new infra/openapi.json

# Without a sanitizer, because the prebuilt libduckdb has none. What a run finds new is among the beginnings of the next; what is worth
# keeping for everyone goes into the checkout's seeds.
.PHONY: fuzz
fuzz: duckdb $(CARGO_FUZZ_DIR)/bin/cargo-fuzz ## Fuzz what callers send (FUZZ_SECONDS=60 each, FUZZ_TARGETS="statement schema")
	@for target in $(FUZZ_TARGETS); do mkdir -p '$(FUZZ)'/$$target/{corpus,found,seeds,tmp}; done
	@cp tests/data/tpch/q*.sql '$(FUZZ)/statement/seeds' 2>/dev/null || true
	@if [ -d '$(FUZZ)/statement/seeds' ]; then { sed -n 's/^[!?]//p' shared/lake/tests/fixtures/hostile.sql; sed '/^# /d; s/^? //' tests/data/hostile.sql; } | \
		awk -v folder='$(FUZZ)/statement/seeds' '{ file = folder "/hostile-" NR ".sql"; printf "%s", $$0 >file; close(file) }'; fi
	@for folder in shared/lake/fuzz tests/fuzz; do \
		PATH='$(CARGO_FUZZ_DIR)/bin':"$$PATH" cargo fuzz build --fuzz-dir $$folder --target-dir '$(CARGO_TARGET_DIR)/fuzz' --dev --sanitizer none; done
	@$(LOADER) ulimit -v $(FUZZ_MEMORY_KB) || true; host=$$(rustc -vV | sed -n 's/^host: //p'); \
		for target in $(FUZZ_TARGETS); do echo "== $$target"; seeds=$$(ls -d "tests/fuzz/seeds/$$target" 2>/dev/null || true); \
			dictionary=$$(ls {shared/lake,tests}/fuzz/$$target.dict 2>/dev/null || true); \
			TMPDIR="$(FUZZ)/$$target/tmp" "$(CARGO_TARGET_DIR)/fuzz/$$host/debug/$$target" "$(FUZZ)/$$target"/{corpus,seeds} $$seeds \
				-artifact_prefix="$(FUZZ)/$$target/found/" $${dictionary:+-dict=$$dictionary} -max_len=4096 -max_total_time=$(FUZZ_SECONDS) \
				-timeout=60 -rss_limit_mb=0 -malloc_limit_mb=0 $(ARGS); done

# The test does the same with a fixed seed and fewer requests.
.PHONY: fuzz-api
fuzz-api: duckdb tools peers ## Send what the OpenAPI document allows, and what it forbids (REQUESTS=20000 SEED=random)
	@cargo build -q $(LOCKED) --workspace --bins
	@export API_FUZZ_REQUESTS='$(or $(REQUESTS),20000)' API_FUZZ_SEED="$${SEED:-$$RANDOM}"; echo "seed $$API_FUZZ_SEED"; \
		$(LOADER) cargo test -q $(LOCKED) --workspace --test every_path -- --nocapture fuzz::

.PHONY: sim
sim: ## Simulate the workflow engine under faults (SIM_SEEDS=20000; SIM_SEED=7 tells the story of one)
	@$(if $(SIM_SEED),SIM_SEED=$(SIM_SEED)) SIM_SEEDS=$(or $(SIM_SEEDS),20000) cargo test -q $(LOCKED) --release -p workflow --test simulation every_seed -- --nocapture

.PHONY: bench
bench: duckdb ## Benchmarks, on release builds (ARGS="…")
	@cargo build $(LOCKED) --release --bin millrace --bin ops --bin emulators $(BENCHES:%=--bin %)
	@cargo build $(LOCKED) --profile lambda -p lambda $(FUNCTIONS:%=--bin %)
	@PROFILE=local $(PROGRAM) --build $(LOCKED) >/dev/null
	@$(LOADER) MILLRACE_CONSOLE_DIR=$$($(BUILD_CONSOLE)) && export MILLRACE_CONSOLE_DIR && \
		exec '$(CARGO_TARGET_DIR)/release/bench' $(ARGS)

# ---------- deploy ----------

# Those that link DuckDB; its library goes into their archives, where Lambda's loader looks for it.
DUCKDB_FUNCTIONS := archiver audit datastores importer
ifeq ($(ARCH),arm64)
LAMBDA_TARGET := aarch64-unknown-linux-gnu
LAMBDA_DUCKDB := linux-arm64
else ifeq ($(ARCH),x86_64)
LAMBDA_TARGET := x86_64-unknown-linux-gnu
LAMBDA_DUCKDB := linux-x64
else
$(error ARCH is '$(ARCH)': set it to arm64 or x86_64)
endif

# All functions in one build, so that what they share is compiled once.
.PHONY: build
build: tools ## Build the Lambda functions into target/lambda (ARCH=arm64 or x86_64)
	@if command -v rustup >/dev/null; then rustup -q target add $(LAMBDA_TARGET); fi
	@rm -rf target/lambda
	@duckdb=$$($(FETCH_DUCKDB) $(LAMBDA_DUCKDB)); \
		PATH='$(TOOLS)/bin':"$$PATH" DUCKDB_LIB_DIR="$$duckdb" cargo lambda build $(LOCKED) --profile lambda --target $(LAMBDA_TARGET) --skip-target-check \
			--output-format binary --lambda-dir target/lambda -p lambda $(FUNCTIONS:%=--bin %); \
		for function in $(DUCKDB_FUNCTIONS); do mkdir -p target/lambda/$$function/lib; cp "$$duckdb/libduckdb.so" target/lambda/$$function/lib/; done
	@console=$$($(BUILD_CONSOLE)); cp -r "$$console" target/lambda/console/console
	@for function in $(FUNCTIONS); do [ -f target/lambda/$$function/bootstrap ] || { echo "functions/$$function has no binary named '$$function'" >&2; exit 1; }; done
	@du -sh $(FUNCTIONS:%=target/lambda/%)

.PHONY: sam-build
sam-build: tools ## Collect what `make build` built for a deployment
	@$(SAM) build

# Reads from AWS what would make a deployment fail, and asks for the parameters that samconfig.toml lacks.
.PHONY: preflight
preflight: tools ## Check that `make deploy` can succeed; changes nothing in AWS (ARGS="…")
	@'$(TOOLS)/bin/python' -B infra/sam/preflight.py $(ARCH) $(ARGS)

# In this order: nothing is built before the checks pass.
.PHONY: deploy
deploy: preflight build sam-build ## Check, build and deploy; the first time it asks (ARGS: of `sam deploy`)
	@$(SAM) deploy $(ARGS)

# For a rollback from the checkout that deployed the earlier release.
.PHONY: redeploy
redeploy: preflight ## Deploy once more what this checkout has built, without a build
	@[ -f .aws-sam/build/template.yaml ] || { echo 'redeploy: nothing is built in this checkout; run `make deploy`' >&2; exit 1; }
	@$(SAM) deploy $(ARGS)

# ---------- the rest ----------

.PHONY: env
env: duckdb ## Print settings for a shell: of cargo, and API, INGEST and TOKEN of the runner: eval "$(make -s env)"
	@printf 'export %s=%q\n' TOOLS_PYTHON '$(TOOLS)/bin/python' PEERS_PYTHON '$(PEERS_PYTHON)/bin' PEERS_NODE '$(PEERS_NODE)/node_modules' CARGO_TARGET_DIR "$$CARGO_TARGET_DIR" DUCKDB_LIB_DIR "$$DUCKDB_LIB_DIR" LD_LIBRARY_PATH "$$LD_LIBRARY_PATH"
	@$(LOADER) if [ -f "$${DATA_DIR:-.millrace}/address.json" ]; then ops=$$($(PROGRAM) --kept ops $(LOCKED)); "$$ops" env; \
		else echo "no runner was started over $${DATA_DIR:-.millrace}, so API, INGEST and TOKEN are left out: start it, or set DATA_DIR to its folder" >&2; fi

.PHONY: clean
clean: ## Remove what was built into the checkout; the shared cache stays
	@rm -rf target .aws-sam

.PHONY: tools-lock
tools-lock: ## Write the pinned requirements of the Python tools from their .in files (needs uv)
	@for file in infra/{sam/requirements,sam/checkov,ministack/requirements} tests/peers/python/requirements; do \
		uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-strip-extras --no-emit-index-url --no-annotate \
			--custom-compile-command 'make tools-lock' $$file.in -o $$file.txt; done

.PHONY: own
own:
	@infra/local/own

.PHONY: library
library:
	@[ '$(DUCKDB_LIB_DIR)' != '$(DUCKDB_CACHE_DIR)' ] || $(FETCH_DUCKDB) >/dev/null

.PHONY: duckdb
duckdb: own library

SAM = SAM_CLI_TELEMETRY=0 '$(TOOLS)/bin/sam'
# It asks for a region even where it talks to no service; a deployment takes its own from the profile or samconfig.toml.
validate sam-build: export AWS_DEFAULT_REGION := $(or $(AWS_REGION),$(AWS_DEFAULT_REGION),eu-central-1)

.PHONY: tools
tools: $(TOOLS)/ready

# A virtual environment cannot be moved into place, so a file says that it is complete. Older pips do not read hashes of
# packages with extras.
$(TOOLS)/ready: REQUIREMENTS := infra/sam/requirements.txt
$(CHECKOV)/ready: REQUIREMENTS := infra/sam/checkov.txt
$(MINISTACK)/ready: REQUIREMENTS := infra/ministack/requirements.txt
$(PEERS_PYTHON)/ready: REQUIREMENTS := tests/peers/python/requirements.txt
$(TOOLS)/ready $(CHECKOV)/ready $(MINISTACK)/ready $(PEERS_PYTHON)/ready:
	@command -v python3 >/dev/null && python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'The tools of $(REQUIREMENTS) need Python 3.11 or newer as python3.' >&2; exit 1; }
	@echo 'installing $(REQUIREMENTS) into $(@D)' >&2
	@rm -rf '$(@D)'; mkdir -p '$(CACHE)'; python3 -m venv '$(@D)'
	@'$(@D)/bin/pip' install -q --disable-pip-version-check pip==$(PIP_VERSION)
	@'$(@D)/bin/pip' install -q --disable-pip-version-check --require-hashes -r $(REQUIREMENTS)
	@touch $@

.PHONY: peers
peers: $(PEERS_PYTHON)/ready $(PEERS_NODE)/ready

$(PEERS_NODE)/ready:
	@command -v npm >/dev/null || { echo 'The tests need npm, with Node.js 20 or newer.' >&2; exit 1; }
	@echo 'installing tests/peers/node into $(@D)' >&2
	@rm -rf '$(@D)'; mkdir -p '$(@D)'; cp tests/peers/node/package{,-lock}.json '$(@D)'
	@cd '$(@D)'; npm ci --silent --no-audit --no-fund
	@touch $@

# Compiled quickly, because each runs for a second.
INSTALL = echo 'installing $(1) into $(2)' >&2; \
	CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_TARGET_DIR='$(CACHE)/install-target' \
		cargo install -q --locked --root '$(2)' $(1); \
	rm -rf '$(CACHE)/install-target'

$(CARGO_DENY_DIR)/bin/cargo-deny:
	@$(call INSTALL,cargo-deny@$(CARGO_DENY_VERSION),$(CARGO_DENY_DIR))

$(CARGO_FUZZ_DIR)/bin/cargo-fuzz:
	@$(call INSTALL,cargo-fuzz@$(CARGO_FUZZ_VERSION),$(CARGO_FUZZ_DIR))
