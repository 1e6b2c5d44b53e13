# Tools, the local control plane and the product are built with the same
# settings, so that they share the Go build cache.
export CGO_ENABLED := 0

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

KUBERNETES_VERSION := v1.37.2
CONTROLLER_GEN_VERSION := v0.23.0
# IMG is the manager's image in dist/install.yaml.
IMG ?= controller:latest
# TEST_FLAGS are added to go test, TEST_PACKAGES are what it runs.
TEST_FLAGS ?=
TEST_PACKAGES ?= ./...
# FUZZTIME is how long make fuzz gives each target.
FUZZTIME ?= 60s

BIN := $(CURDIR)/bin
TOOLS := $(BIN)/tools
CONTROLLER_GEN := $(TOOLS)/controller-gen
CRD_REF_DOCS := $(TOOLS)/crd-ref-docs
GOLANGCI_LINT := $(TOOLS)/golangci-lint
GOTESTSUM := $(TOOLS)/gotestsum
HELM := $(TOOLS)/helm
KUSTOMIZE := $(TOOLS)/kustomize
AUDIT_TOOLS := $(TOOLS)/govulncheck $(TOOLS)/cyclonedx-gomod $(TOOLS)/indexdb
KUBECTL ?= $(if $(wildcard bin/k8s/kubectl),bin/k8s/kubectl,kubectl)

CHART := charts/delegation-operator
GENERATED := api/v1alpha1/zz_generated.deepcopy.go config/crd/bases config/rbac/role.yaml $(CHART)/files docs/api-reference.md

##@ General

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n"} \
		/^[a-zA-Z_0-9-]+:.*?##/ {printf "  \033[36m%-16s\033[0m %s\n", $$1, $$2} \
		/^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)}' $(MAKEFILE_LIST)

.PHONY: clean
clean: ## Stop the local control plane and remove everything that was built.
	@if [[ -d .local/cluster ]]; then $(MAKE) --no-print-directory cluster-down; fi
	rm -rf bin dist .local

##@ Development

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate the DeepCopy methods.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...

.PHONY: manifests
manifests: $(CONTROLLER_GEN) ## Generate the CRDs and the manager's ClusterRole, and copy them into the chart.
	$(CONTROLLER_GEN) crd rbac:roleName=manager-role paths="{./api/...,./controllers/...}" \
		output:crd:artifacts:config=config/crd/bases output:rbac:artifacts:config=config/rbac
	cp config/crd/bases/*.yaml $(CHART)/files/crds/
	cp config/rbac/role.yaml $(CHART)/files/role.yaml
	cp config/policy/continuations.yaml $(CHART)/files/policy.yaml

.PHONY: docs-api
docs-api: $(CRD_REF_DOCS) ## Generate docs/api-reference.md.
	$(CRD_REF_DOCS) --source-path=api --config=hack/api-reference.yaml --renderer=markdown \
		--output-path=docs/api-reference.md --log-level=WARN

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the code.
	$(GOLANGCI_LINT) fmt

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linters.
	$(GOLANGCI_LINT) run

.PHONY: verify
verify: generate manifests docs-api ## Check that generated files, go.mod and formatting are up to date.
	@unformatted=$$(gofmt -l .); \
		if [[ -n "$$unformatted" ]]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi
	@go mod tidy -diff || { echo "go.mod is not tidy: run go mod tidy"; exit 1; }
	@if [[ -n "$$(git status --porcelain -- $(GENERATED))" ]]; then \
		git --no-pager diff HEAD -- $(GENERATED); git status --short -- $(GENERATED); \
		echo "generated files are not up to date: commit the changes above"; exit 1; fi
	@echo "generated files, go.mod and formatting are up to date"

.PHONY: test
test: localcluster build interop-deps test-alerts $(GOTESTSUM) $(HELM) ## Run all tests.
	$(GOTESTSUM) --format=testname -- -count=1 -timeout=15m $(TEST_FLAGS) $(TEST_PACKAGES)

.PHONY: fuzz
fuzz: ## Give each fuzz target FUZZTIME of what agents, card servers and token endpoints may answer.
	hack/fuzz.sh $(FUZZTIME)

# Prometheus is a module of its own, which nothing else needs.
.PHONY: test-alerts
test-alerts: ## Try the alerts and the dashboard with Prometheus' engine and parser.
	go -C test/alerts test -count=1 .

.PHONY: test-faults
test-faults: localcluster build ## Run all fault plans: crashes, distorted views, replicas, agents' faults, power loss.
	go -C test/faults test -count=1 -timeout=40m -full

.PHONY: test-mutants
test-mutants: localcluster build ## Break the operator in many ways, and require that a named test catches each.
	go run ./hack/mutants

.PHONY: bench-proxy
bench-proxy: build ## Measure what the deduplicating proxy adds, against the bare agent in the same run.
	go run ./hack/benchproxy

.PHONY: bench-follow
bench-follow: localcluster build ## Measure what it costs to follow 100, 1,000 and 10,000 tasks at one agent.
	go run ./test/bench/follow

# BENCH_FLAGS are added to these benchmarks, such as -batch=200; RATE is the share of what a batch reaches.
BENCH_FLAGS ?=
RATE ?= 0.7
THROUGHPUT := go run ./test/bench/throughput

.PHONY: bench-floor
bench-floor: localcluster ## Measure what the machine gives to any operator: syncs, puts into etcd, status updates, a call.
	$(THROUGHPUT) floor $(BENCH_FLAGS)

.PHONY: bench
bench: localcluster build ## Measure Delegations/s from creation to the end, in rounds beside that.
	$(THROUGHPUT) bench $(BENCH_FLAGS)

.PHONY: bench-check
bench-check: localcluster build ## Run bench in short, and check that its ratios are in the ranges that are checked in.
	$(THROUGHPUT) check $(BENCH_FLAGS)

.PHONY: bench-sustained
bench-sustained: localcluster build ## Measure latencies and backlog while Delegations come at RATE of what a batch reaches.
	$(THROUGHPUT) sustained -rate=$(RATE) $(BENCH_FLAGS)

.PHONY: bench-recovery
bench-recovery: localcluster build ## Kill the manager while many messages are out, and measure how long recovery takes.
	$(THROUGHPUT) recovery $(BENCH_FLAGS)

.PHONY: bench-scale
bench-scale: localcluster build ## Measure memory and start-up with 1,000, 10,000 and 100,000 finished Delegations.
	go run ./test/bench/scale

.PHONY: bench-starve
bench-starve: localcluster build ## Measure whether 5,000 Delegations at a slow agent hold up another agent's.
	go run ./test/bench/scale starve

.PHONY: bench-growth
bench-growth: localcluster build ## Measure what Delegations take in etcd, and whether it stays bounded under a steady load.
	go run ./test/bench/growth

.PHONY: bench-shards
bench-shards: localcluster build ## Measure what 1, 2 and 3 managers bring to their end in a second.
	go run ./test/bench/shards

.PHONY: audit
audit: build $(AUDIT_TOOLS) ## Write what the programs are made of (SBOM) into dist/audit, and check it for known vulnerabilities.
	hack/audit.sh $(TOOLS) dist/audit

.PHONY: model
model: ## Check the model of the protocol with spin (Debian package spin).
	docs/model/check.sh

##@ Interoperability

INTEROP_JS := test/interop/js
INTEROP_MODULES := $(INTEROP_JS)/node_modules/.package-lock.json

.PHONY: interop-deps
interop-deps: $(if $(shell command -v npm),$(INTEROP_MODULES),interop-without-npm) ## Build and install the foreign agents of test/interop.
	go build -o $(BIN)/interop-goagent ./test/interop/goagent

# npm writes this file last, as its own record of what it installed.
$(INTEROP_MODULES): $(INTEROP_JS)/package.json $(INTEROP_JS)/package-lock.json $(INTEROP_JS)/.npmrc
	npm ci --prefix $(INTEROP_JS)
	@touch $@

.PHONY: interop-without-npm
interop-without-npm:
	@echo "npm is missing: the tests with JavaScript agents fail without it; install Node.js 20 or newer with npm"

.PHONY: interop-needs-npm
interop-needs-npm:
	@command -v npm >/dev/null || { echo "npm is missing, and the table has agents that need it: install Node.js 20 or newer with npm"; exit 1; }

.PHONY: interop
interop: interop-needs-npm localcluster build interop-deps ## Install agents that others wrote, run the operator against them, and write the table of docs/interop.md.
	go -C test/interop test -count=1 . -update

##@ Build

.PHONY: build
build: ## Build all programs of cmd/ into bin/.
	go build -o $(BIN)/ ./cmd/...

.PHONY: chart
chart: manifests $(HELM) ## Write the chart as a package into dist.
	$(HELM) package $(CHART) --destination dist

.PHONY: build-installer
build-installer: manifests $(KUSTOMIZE) ## Write dist/install.yaml, with the manager's image IMG.
	@mkdir -p dist
	$(KUSTOMIZE) build config/default | sed 's|image: controller:latest|image: $(IMG)|' > dist/install.yaml

.PHONY: krew
krew: ## Build the kubectl plugin for all platforms, and its krew manifest, into dist/krew; VERSION=v1.2.3.
	go run ./hack/krew --version=$(or $(VERSION),v0.0.0)

##@ Local cluster

.PHONY: localcluster
.PHONY: cluster-up
cluster-up: localcluster ## Start the local control plane and write .local/kubeconfig.
	@go run ./hack/cluster up

.PHONY: cluster-down
cluster-down: ## Stop the local control plane and remove its data.
	@go run ./hack/cluster down

.PHONY: install
install: manifests $(KUSTOMIZE) ## Install the CRDs into the cluster of the current kubeconfig.
	$(KUSTOMIZE) build config/crd | $(KUBECTL) apply --server-side -f -

.PHONY: demo
demo: localcluster build ## Play the worked example against the local control plane.
	@go run ./hack/demo up

.PHONY: demo-down
demo-down: ## Stop what the demo started.
	@go run ./hack/demo down

ifdef KUBEBUILDER_ASSETS
localcluster:
	@echo "using the control plane in $(KUBEBUILDER_ASSETS)"
else
localcluster: $(BIN)/k8s/localcluster ## Build etcd, kube-apiserver, kube-controller-manager and kubectl into bin/k8s.
endif

VERSION_PACKAGES := k8s.io/component-base/version k8s.io/client-go/pkg/version
# The version is set as in a release build: clients parse what the server reports.
LOCALCLUSTER_LDFLAGS := -s -w $(foreach package,$(VERSION_PACKAGES), \
	-X $(package).gitVersion=$(KUBERNETES_VERSION) \
	-X $(package).gitMajor=$(word 1,$(subst ., ,$(KUBERNETES_VERSION:v%=%))) \
	-X $(package).gitMinor=$(word 2,$(subst ., ,$(KUBERNETES_VERSION:v%=%))) \
	-X $(package).gitCommit=unknown -X $(package).gitTreeState=clean -X $(package).buildDate=1970-01-01T00:00:00Z)

$(BIN)/k8s/localcluster: $(wildcard hack/localcluster/*.go) hack/localcluster/go.mod hack/localcluster/go.sum
	@mkdir -p $(@D)
	@hack/heartbeat.sh "building the local control plane, Kubernetes $(KUBERNETES_VERSION): 10 minutes the first time, then seconds" \
		go -C hack/localcluster build -buildvcs=false -ldflags '$(LOCALCLUSTER_LDFLAGS)' -o $@ .
	@for name in etcd kube-apiserver kube-controller-manager kubectl; do ln -sf localcluster $(@D)/$$name; done

##@ Tools

.PHONY: tools
tools: $(CONTROLLER_GEN) $(CRD_REF_DOCS) $(GOLANGCI_LINT) $(GOTESTSUM) $(HELM) $(KUSTOMIZE) ## Build all tools into bin/tools.

# controller-gen writes its version into what it generates.
$(CONTROLLER_GEN): TOOL_LDFLAGS := -X sigs.k8s.io/controller-tools/pkg/version.version=$(CONTROLLER_GEN_VERSION)

# The vulnerability database's module has the tool that makes an index of it.
$(TOOLS)/indexdb: hack/tools/vulndb/go.mod hack/tools/vulndb/go.sum
	@mkdir -p $(@D)
	@hack/heartbeat.sh "building indexdb" go -C hack/tools/vulndb build -buildvcs=false -ldflags '-s -w' -o $@ tool

$(TOOLS)/%: hack/tools/%/go.mod hack/tools/%/go.sum
	@mkdir -p $(@D)
	@hack/heartbeat.sh "building $*" go -C hack/tools/$* build -buildvcs=false -ldflags '-s -w $(TOOL_LDFLAGS)' -o $@ tool
