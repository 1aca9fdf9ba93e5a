# The two commands of a newcomer are `make demo` and `make test`.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

.PHONY: all setup build demo test soak bench fresh clean

all: build

setup:
	scripts/setup

build:
	cargo build --release

demo: setup build
	target/release/senesce demo

# Every deterministic test.
test:
	scripts/setup test
	scripts/test

# What is long, random or statistical, and what needs servers, MPI or virtual machines; writes docs/soak.md.
soak:
	scripts/setup soak
	scripts/soak

bench: build
	scripts/setup features
	scripts/bench

# Runs both commands of a newcomer on a Debian 12 that has nothing else.
fresh:
	scripts/fresh

clean:
	cargo clean
