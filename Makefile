# The two commands: `make demo` shows what Joinless does, `make test` checks all of it. `make help` lists the rest.

SHELL := /bin/bash
VERSION := $(shell sed -n 's/^ThisBuild \/ version := "\(.*\)"/\1/p' build.sbt)
SPARK := $(shell sed -n 's/^val sparkVersion = "\([0-9]*\.[0-9]*\)\..*/\1/p' build.sbt)
# The other minor versions of Spark that the plugin is built for, and those whose jars are in the wheel.
OTHERS := $(patsubst python/requirements-spark-%.txt,%,$(wildcard python/requirements-spark-*.txt))
SPARKS ?= $(SPARK) $(OTHERS)
NAME = joinless-spark-$(1)_2.13-$(VERSION).jar
JAR := spark-plugin/plugin/target/scala-2.13/$(call NAME,$(SPARK))
OTHER_JAR = target/spark-$(1)/target/scala-2.13/$(call NAME,$(1))
WHEEL := dist/joinless-$(VERSION)-py3-none-any.whl
JARS := python/src/joinless/jars
BUNDLED := $(JARS)/$(call NAME,$(SPARK))
SCALA_SOURCES := $(shell find spark-plugin project -path '*/target' -prune -o -path '*/src/main/*' -type f -print) build.sbt
PYTHON_SOURCES := $(shell find python -path '*/jars' -prune -o -type f -name '*.py' -print) python/pyproject.toml README.md LICENSE NOTICE

.PHONY: help setup spark jar wheel release demo kafka test test-long faults soak bench bench-full bench-jmh opponents fmt clean
.DELETE_ON_ERROR:

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

setup: ## check Java and Python, make .venv, fetch sbt
	@scripts/setup

demo: $(BUNDLED) ## three-hop and star joins on a stream of files, beside Spark's own joins (2 minutes)
	@.venv/bin/python examples/demo.py

KAFKA ?=
kafka: $(BUNDLED) ## three Debezium topics, their join as a compacted topic, driver and broker killed (2 minutes); KAFKA='--changes 1000000'
	@scripts/setup kafka
	@.venv/bin/python examples/kafka_topics.py $(KAFKA)

test: setup ## all formats, checks and tests
	@scripts/setup tests
	@scripts/test

test-long: setup ## what make test leaves out: kills, clusters, opponents, many random queries, soak, Spark's suites (hours)
	@scripts/setup tests
	@scripts/test-long

FAULTS ?=
faults: $(BUNDLED) ## kill drivers and executors of running pipelines, 30 times, and count wrong rows (8 minutes); FAULTS='--seed 7 --kills 100'
	@PYTHONPATH=tests .venv/bin/python -m faults $(FAULTS)

SOAK_BATCHES ?= 10000
soak: setup ## 10,000 tiny batches of each kind: the heap stays where it was (an hour)
	@JOINLESS_SOAK_BATCHES=$(SOAK_BATCHES) scripts/sbt "plugin/testOnly *SoakSpec"
	@grep -a 'MB after' .build/sbt.log

opponents: ## install the systems the benchmark compares with (Flink, Pathway, differential dataflow) into a cache of the user's
	@benchmarks/install

bench: $(BUNDLED) ## the small benchmark: every system on generated graphs, results checked (20 minutes)
	@scripts/sbt bench/writeClasspath
	@.venv/bin/python benchmarks/bench.py --suite small $(BENCH)

bench-full: $(BUNDLED) ## the benchmark of docs/benchmarks.md; BENCH="--graphs FOLDER --truth FILE" (90 minutes)
	@scripts/sbt bench/writeClasspath
	@.venv/bin/python benchmarks/bench.py --suite full alone sizes batches --out docs/benchmarks $(BENCH)

JMH ?=
bench-jmh: setup ## the engine beside an index written by hand, under JMH (4 minutes); JMH='-p edges=500000' and the like
	@scripts/sbt "bench/Jmh/run -rf json -rff target/jmh.json $(JMH)"
	@sed -n '/^\[info\] Benchmark /,/^\[success\]/s/^\[info\] //p' .build/sbt.log

spark:
	@echo $(SPARK)

jar: $(JAR) ## the plugin's jar

wheel: $(WHEEL) ## dist/joinless-*.whl, with a jar per version of Spark; SPARKS=4.3 for those of some versions only

RELEASE ?=
release: setup ## dist/release: wheel, jars, POMs, notes, checksums, built twice and compared; RELEASE=--draft before its date is set
	@.venv/bin/python scripts/release.py $(RELEASE)

fmt: setup ## format Scala and Python
	@scripts/sbt scalafmtSbt scalafmtAll suites/scalafmtAll $(foreach minor,$(OTHERS),spark-$(subst .,-,$(minor))/scalafmtAll)
	@.venv/bin/ruff format --quiet . && .venv/bin/ruff check --quiet --fix .

clean: ## remove everything these targets made
	rm -rf .build .venv dist demo-output python/src/joinless/jars target project/target project/project
	find spark-plugin -name target -type d -prune -exec rm -rf {} +
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf .pytest_cache .mypy_cache .ruff_cache .bsp

$(JAR): $(SCALA_SOURCES) | setup
	@scripts/sbt plugin/assembly
	@touch $@

$(BUNDLED): $(JAR)
	@mkdir -p $(@D) && cp $< $@

define OTHER
$(call OTHER_JAR,$(1)): $(SCALA_SOURCES) | setup
	@scripts/setup spark $(1)
	@scripts/sbt spark-$(subst .,-,$(1))/assembly
	@touch $$@

$(JARS)/$(call NAME,$(1)): $(call OTHER_JAR,$(1))
	@mkdir -p $$(@D) && cp $$< $$@
endef
$(foreach minor,$(OTHERS),$(eval $(call OTHER,$(minor))))

# A wheel has the jars that it is made for, and no others.
$(WHEEL): $(foreach minor,$(SPARKS),$(JARS)/$(call NAME,$(minor))) $(PYTHON_SOURCES)
	@rm -rf dist $(filter-out $(foreach minor,$(SPARKS),$(JARS)/$(call NAME,$(minor))),$(wildcard $(JARS)/*.jar))
	@.venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist ./python
	@echo "wheel: $@"
