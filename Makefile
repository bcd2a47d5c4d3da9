# The targets of scrfs. `make` alone lists them.

GO       ?= go
PREFIX   ?= /usr/local
PKGS     ?= ./...
FUZZTIME ?= 1m
TESTFLAGS ?=

# The place where Go's own archive puts itself, for shells that do not know it.
export PATH := $(PATH):/usr/local/go/bin

# One version of the linter for everybody. It is built once from the module
# proxy, away from this module, whose go.mod it would otherwise fill.
LINT_VERSION := v2.15.0
LINT_DIR      = $(shell $(GO) env GOPATH)/scrfs-tools/golangci-lint-$(LINT_VERSION)
LINT          = $(LINT_DIR)/golangci-lint

.DEFAULT_GOAL := help
.PHONY: help build test race lint fmt fuzz bench integration test-apps demo ci install deps clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the commands into bin/
	$(GO) build -trimpath -o bin/ ./cmd/...

test: deps ## run all tests; installs the programs they need, as root on Debian
	$(GO) vet $(PKGS)
	$(GO) test -timeout 30m $(TESTFLAGS) $(PKGS)

race: ## run all tests but the integration tests under the race detector
	@scripts/deps.sh race
	$(GO) test -race -timeout 30m $(TESTFLAGS) $$($(GO) list ./... | grep -v /integration)

integration: deps ## run only the integration tests, each anew
	$(GO) test -count=1 -timeout 30m $(TESTFLAGS) ./integration/...

test-apps: ## run the integration tests with every program they know (installs them)
	@scripts/deps.sh test apps
	$(GO) test -count=1 -timeout 60m -tags apps $(TESTFLAGS) ./integration/...

demo: deps ## show scrfs at work: LAMMPS on four nodes, lost nodes, rescue
	$(GO) run ./integration/demo

lint: $(LINT) ## look for what the compiler does not see (.golangci.yml)
	$(LINT) run

$(LINT):
	@echo "building golangci-lint $(LINT_VERSION), once; takes some minutes"
	cd / && GOFLAGS= GOBIN=$(LINT_DIR) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

fmt: ## lay out the source
	gofmt -w $$(git ls-files '*.go')

fuzz: ## run each fuzz target for FUZZTIME (1m)
	@FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

bench: ## run the benchmarks of the packages; names the one of the mount
	$(GO) test -run '^$$' -bench . -benchmem $(PKGS)
	@echo "the mount against bare memory, bindfs and fuse-overlayfs (about half an hour, as root): $(GO) run ./integration/bench"

ci: ## what continuous integration runs
	.ci/run

install: build ## install commands, man pages and completion below $(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man8 $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install bin/scrfs bin/scr-postrun $(DESTDIR)$(PREFIX)/bin/
	for p in scrfs scr-postrun; do \
		bin/$$p man >$(DESTDIR)$(PREFIX)/share/man/man8/$$p.8 && \
		bin/$$p completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$p || exit 1; \
	done

deps: ## install the Debian packages that tests and demo need and that are missing
	@scripts/deps.sh test

clean: ## remove what was built
	rm -rf bin
