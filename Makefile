# Everything runs from .venv, which the first target that needs it makes with plain pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Child processes of tests read the bytecode that the first one writes, also where the caller wants none written.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-slow test-wire faults flood test-gpu test-gpu-random test-pretended-gpu cuda-dtypes conformance check api
.PHONY: docs bench flood-cluster test-hosts format protos clean

# torch comes first and by exact version: a plain `torch` would pull gigabytes of CUDA packages.
$(VENV)/base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet -e .[demo]
	touch $@

$(VENV)/test: $(VENV)/base
	$(BIN)/pip install --quiet -e .[demo,test]
	touch $@

# 110 MB of schemas, for the manifests of launchers.
$(VENV)/manifests: $(VENV)/test
	$(BIN)/pip install --quiet kubernetes-validate==1.37.0
	touch $@

$(VENV)/check: $(VENV)/base
	$(BIN)/pip install --quiet -e .[check]
	touch $@

$(VENV)/docs: $(VENV)/base
	$(BIN)/pip install --quiet -e .[docs]
	touch $@

demo: $(VENV)/base
	$(BIN)/python examples/digits.py

test: $(VENV)/test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" -n 2

test-slow: $(VENV)/test
	$(BIN)/python -m pytest -m slow

# Loses, repeats, delays and breaks each frame and each call between tasks, and prints a table; takes half an hour.
test-wire: $(VENV)/test
	OMP_NUM_THREADS=1 PYTHONPATH=$(CURDIR) $(BIN)/python -m tests.cluster.distributed.wire_faults $(FAULTS)

# Clusters over virtual hosts, with cables, firewalls and a switch: root, or a user who may make namespaces.
test-hosts: $(VENV)/manifests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/hosts tests/test_launchers.py -n 4

# Training in which tasks are killed, stopped, kept from running and cut off: how soon it is noticed, and goes on, and
# whether updates stay whole.
faults: $(VENV)/test
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.cluster.distributed.scenarios
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.cluster.distributed.soak
	OMP_NUM_THREADS=1 PYTHONPATH=$(CURDIR) $(BIN)/python -m tests.cluster.distributed.kills

# A model server that 5,000 connections try to exhaust for five minutes, and the latency of a client meanwhile.
flood: $(VENV)/test
	OMP_NUM_THREADS=1 PYTHONPATH=$(CURDIR) $(BIN)/python -m tests.deploy.serving.flood $(FLOOD)

# The tasks of a cluster that 3,000 connections try to exhaust, and the times of two clients meanwhile.
flood-cluster: $(VENV)/test
	OMP_NUM_THREADS=1 PYTHONPATH=$(CURDIR) $(BIN)/python -m tests.cluster.distributed.flood $(FLOOD)

# On a machine with a GPU; with an empty VENV, $(PYTHON) runs them, with the torch and the packages that it finds.
GPU_PYTEST = OMP_NUM_THREADS=1 PYTHONPATH=$(CURDIR)/src$(PYTHONPATH:%=:%) $(or $(VENV:%=%/bin/python),$(PYTHON)) -m pytest
JOBS ?= 4
test-gpu: $(if $(VENV),$(VENV)/test)
	$(GPU_PYTEST) -m "not slow" -n $(JOBS)

# 5,000 random programs, on the GPU and on the CPU.
test-gpu-random: $(if $(VENV),$(VENV)/test)
	$(GPU_PYTEST) -m slow -n $(JOBS) tests/graph/control_flow/test_random_programs.py::test_devices_agree

# The tests as they run on a machine with a GPU, on any machine.
test-pretended-gpu: $(VENV)/test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" -n 2 --pretend-gpu

# On a machine with CUDA: records for which types torch has no kernels there, which the pretended GPU then lacks too.
cuda-dtypes: $(VENV)/test
	$(BIN)/python -m tests.record_cuda_dtypes tests/fixtures/cuda_dtypes.json

# TensorFlow itself, in an environment of its own, as the judge of names, files and numbers. `conformance` asks it and
# records its answers in tests/fixtures/tensorflow_answers, with which `test` compares.
TENSORFLOW ?= .venv-bench/tf/bin/python
.venv-bench/tf/bin/python:
	$(PYTHON) -m venv .venv-bench/tf
	.venv-bench/tf/bin/pip install --quiet tensorflow-cpu==2.21.0 tf_keras==2.21.0 tensorflow-serving-api==2.21.0
	touch .venv-bench/tf/ready

conformance: $(VENV)/test $(TENSORFLOW)
	THALWEG_RECORD=1 THALWEG_TENSORFLOW=$(abspath $(TENSORFLOW)) $(BIN)/python -m pytest $(or $(TESTS),tests/conformance)

check: $(VENV)/check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/docs
	OMP_NUM_THREADS=1 $(BIN)/mkdocs build --strict

# The modules of the public API, from the names that the implementation exports.
api: $(VENV)/base
	$(BIN)/python tools/api.py

# The messages of the control plane, from control.proto. What this release of protoc writes needs no newer protobuf.
CONTROL := src/thalweg/_src/cluster/distributed/control.proto
protos:
	$(PYTHON) -m venv .venv-bench/protoc
	.venv-bench/protoc/bin/pip install --quiet grpcio-tools==1.62.3
	.venv-bench/protoc/bin/python -m grpc_tools.protoc -I src --python_out=src --pyi_out=src $(CONTROL)

bench: $(VENV)/base
	$(BIN)/pip install --quiet -e .[bench]
	$(BIN)/python bench/run.py

clean:
	rm -rf $(VENV) .venv-bench build *.egg-info src/*.egg-info
