# make demo    the main job, with no key and no network
# make build-example  a small forum and a small book become two benchmarks, and a simulated model an ablation on each; about a minute
# make test    the first tier of the tests, some minutes; TESTS=tests/sandbox for those of a room
# make test-all  all tests, as CI runs them; TESTS as above
# make lint    ruff, mypy --strict and import-linter
# make check   lint and test
# make docs    the documentation as a site with the notebooks run and the demo in the viewer, build/docs/site/index.html
#
# make bench-kernels  how long a fresh kernel takes, beside a plain ipykernel: on a quiet machine, a quarter of an hour
# make bench-web, bench-corpus, bench-extraction  the archive, the corpus and reading pages, beside what one would use instead: some minutes each
# make bench-store    a hundred thousand traces: how large the store is and how fast it is read; 20 minutes
# make bench-viewer   pages of a hundred thousand trials: how soon they are there and how fast; some minutes
# make bench-scale    a million trials planned, resumed and compared: seconds, CPU and memory beside what is aimed at; 10 minutes, 5 GB
# make bench-cluster  what trials on Ray workers cost beside trials here, and fifty kills at random: a quarter of an hour
# make bench-tasks    what people do with the pages, in Chromium: clicks, keys and seconds, beside what is aimed at; 3 minutes
# make bench-runner   what a trial costs, beside Inspect AI where TOOLABLATE_BENCH_INSPECT names a Python that has it
# make docker-image   the kernel image of the Docker backend; IMAGE_OPTIONS=--offline where no registry can be reached
# Tests start hundreds of processes, which read compiled modules.
export PYTHONDONTWRITEBYTECODE :=
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo build-example test test-all lint check docs bench-kernels bench-web bench-corpus bench-extraction bench-runner bench-store bench-viewer bench-scale bench-cluster bench-tasks docker-image bubblewrap clean

demo: | bubblewrap .venv/demo.installed
	@$(BIN)/toolablate run examples/demo/plan.toml

build-example: .venv/build-example.installed
	@$(BIN)/python examples/build/example.py

# Tests wait for processes and for servers: three at a time keep two processors busy. Stolen work leaves the tests of a
# module together, and with them what these make once.
test: | bubblewrap .venv/dev.installed
	$(BIN)/pytest -n 3 --dist worksteal -m "not deep" $(TESTS)

test-all: | bubblewrap .venv/dev.installed
	$(BIN)/pytest $(TESTS)

lint: .venv/dev.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test

docs: .venv/dev.installed | bubblewrap
	@$(BIN)/python docs/site/build.py

bench-kernels bench-cluster: | bubblewrap .venv/dev.installed
	@$(BIN)/python -m $(subst -,.,$@) $(BENCH_OPTIONS)

bench-web bench-corpus bench-extraction bench-runner bench-store bench-viewer bench-scale: .venv/dev.installed
	@$(BIN)/python -m $(subst -,.,$@) $(BENCH_OPTIONS)

bench-tasks: | bubblewrap .venv/dev.installed
	@mkdir -p runs
	@$(BIN)/toolablate run examples/planted/plan.toml --store runs/bench-tasks.sqlite >/dev/null
	@$(BIN)/python -m bench.viewer --tasks runs/bench-tasks.sqlite

docker-image: .venv/demo.installed
	$(BIN)/python -m toolablate.sandbox.docker.build $(IMAGE_OPTIONS)

bubblewrap:
	@.ci/debian bubblewrap:bwrap

clean:
	rm -rf .venv runs build dist

.venv/bin/pip:
	@.ci/venv $(PYTHON)

.venv/demo.installed: pyproject.toml | .venv/bin/pip
	@echo "Installing toolablate and the kernel's packages into .venv (a minute or two) ..."
	@$(BIN)/pip install -qq --disable-pip-version-check -e '.[kernel]'
	@touch $@

.venv/build-example.installed: pyproject.toml | .venv/bin/pip
	@echo "Installing toolablate and what building and reports need into .venv (a minute or two) ..."
	@$(BIN)/pip install -qq --disable-pip-version-check -e '.[build,view]'
	@touch $@

.venv/dev.installed: pyproject.toml | .venv/bin/pip
	@echo "Installing toolablate and the development tools into .venv (a minute or two) ..."
	@$(BIN)/pip install -qq --disable-pip-version-check -e '.[kernel,dev]'
	@touch $@ .venv/demo.installed .venv/build-example.installed
