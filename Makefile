# The two commands of a newcomer are `make demo` and `make test`.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

.PHONY: all setup build demo test test-features bench clean

all: build

setup:
	scripts/setup

build:
	cargo build --release

demo: setup build
	target/release/senesce demo

test: setup
	scripts/test

# What is not built in unless asked for: MPI, object stores, databases.
test-features:
	scripts/setup features
	scripts/test-features

bench: build
	scripts/setup features
	scripts/bench

clean:
	cargo clean
