# The front door. The work is done by tools/*.sh; `make help` lists the targets.
#
#   PYTHON=python3.12   use this Python instead of the newest one found
#   PYTHONS='3.14 ...'  the Pythons of `make matrix`, instead of all
#   FUZZ_SECONDS=60     how long each fuzz target runs
#   PREFIX= DESTDIR=    where `make install` puts things

PREFIX ?= /usr/local
DESTDIR ?=
export PYTHON FUZZ_SECONDS PREFIX DESTDIR

.PHONY: build help test test-torch demo bench lint format fuzz sanitize cross each-python matrix install clean

build: ## set up .venv/, build everything, install kymograph into .venv/ (the default)
	@tools/build.sh

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: ## build, and run every test that needs no special hardware
	@tools/test.sh

test-torch: ## compare kymograph.profile with a real torch, which is installed outside the tree
	@tools/test-torch.sh $(TORCH)

demo: ## build, record the demo program, and show what it did
	@tools/demo.sh

bench: ## run the benchmarks
	@tools/bench.sh

lint: ## formatting, warnings of gcc and clang as errors, static analysis, types
	@tools/lint.sh

format: ## rewrite C and Python sources to the project's format
	@tools/format.sh

fuzz: ## fuzz everything that reads a file
	@tools/fuzz.sh

sanitize: ## run the C tests under ASan+UBSan and under TSan
	@tools/sanitize.sh

cross: ## build for the other architecture and run C and Python tests in an emulator
	@tools/cross.sh

each-python: ## run the Python tests on every other Python found
	@tools/each-python.sh

matrix: ## build and test on Pythons that are not here: 3.13 to 3.15, free-threaded ones too
	@tools/matrix $(PYTHONS)

install: ## install library, headers, program and man page under PREFIX
	@tools/install.sh

clean: ## remove everything that was built, .venv/ too
	rm -rf build .venv
