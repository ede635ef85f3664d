"""`thalweg simulate`: training jobs by discrete events."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from thalweg._src.base.errors import OpError
from thalweg._src.compiler.place.cost import CostModel, Link
from thalweg._src.graph.graph import Graph
from thalweg._src.runtime.session.measured_costs import measure_link
from thalweg._src.tools.simulate.program import ProgramCosts, program_costs
from thalweg._src.tools.simulate.report import FORMATS, draw, report
from thalweg._src.tools.simulate.run import sweep
from thalweg._src.tools.simulate.scenario import FREE, MODES, SHARING, Compute, Failures, Scenario, even_shards

_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def size(value: str) -> float:
    """Parses a number of bytes with an optional unit: 108MB, 1.25GB, 10Gbit."""
    match = re.fullmatch(r"(\d+\.?\d*(?:e\d+)?)\s*([kmgt]?)(b|bit)?(?:/s)?", value.strip().lower())
    if match is None:
        raise click.BadParameter(f"{value!r} is not a number of bytes, such as 108MB or 10Gbit")
    number, unit, of = match.groups()
    return float(number) * _UNITS[unit] / (8 if of == "bit" else 1)


def numbers(value: str) -> tuple[int, ...]:
    """Parses integers that are separated by commas; 0:5 are those from 0 to 5."""
    result: list[int] = []
    for item in value.split(","):
        match = re.fullmatch(r"\s*(\d+)(?::(\d+))?\s*", item)
        if match is None:
            raise click.BadParameter(f"{item!r} is not an integer or a range such as 1:8")
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise click.BadParameter(f"{item!r} is an empty range")
        result += range(first, last + 1)
    return tuple(result)


def seconds(value: str) -> tuple[float, ...]:
    """Parses seconds, or reads a file with measured ones, separated by white space."""
    try:
        return (float(value),)
    except ValueError:
        pass
    try:
        return tuple(map(float, Path(value).read_text(encoding="utf-8").split()))
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{value!r} is neither seconds nor a file with seconds: {error}") from None


@click.command("simulate")
@click.option("--mode", "modes", multiple=True, type=click.Choice(MODES), help="May be repeated. [default: async]")
@click.option("--workers", type=numbers, default="1", show_default=True, help="Numbers of workers: 1,10,100 or 1:8.")
@click.option("--backups", type=numbers, default="0", show_default=True, help="Backup workers, in mode sync.")
@click.option("--ps", type=click.IntRange(min=1), default=1, show_default=True, help="How many parameter servers.")
@click.option("--model", type=size, default="0", help="Size of the parameters: 108MB.")
@click.option("--batch", type=click.IntRange(min=1), default=1, show_default=True, help="Examples per worker and step.")
@click.option("--compute", type=seconds, default="1", show_default=True, help="Computing time, or a file of samples.")
@click.option("--sigma", type=float, default=0.0, help="Spread of the computing time, which is lognormal then.")
@click.option("--stragglers", type=float, default=0.0, help="Probability that a worker's step is slow.")
@click.option("--straggler-factor", type=float, default=1.0, help="A slow step computes so many times as long,")
@click.option("--straggler-delay", type=float, default=0.0, help="and so many seconds more,")
@click.option("--straggler-mean", type=float, default=0.0, help="and a random time with this mean more.")
@click.option("--latency", type=float, default=0.0, help="Seconds from task to task.")
@click.option("--bandwidth", type=size, help="Bytes per second of a worker: 10Gbit.")
@click.option("--ps-bandwidth", type=size, help="Of a parameter server, in each direction. [default: --bandwidth]")
@click.option("--sharing", type=click.Choice(SHARING), default="fair", show_default=True, help="Concurrent transfers.")
@click.option("--message", type=float, default=0.0, help="CPU seconds of a parameter server per pull or push.")
@click.option("--apply", type=size, help="Bytes of gradients per second that a core applies.")
@click.option("--accumulate", type=size, help="Bytes of gradients per second that a core adds up, in mode sync.")
@click.option("--ps-cores", type=int, default=1, show_default=True, help="Cores of a parameter server.")
@click.option("--host-cores", type=float, help="All tasks run on one host with so many cores.")
@click.option(
    "--buckets", type=int, default=1, show_default=True, help="Pieces that are sent while others are computed."
)
@click.option("--per-host", type=int, default=1, show_default=True, help="Workers per host, in mode all_reduce.")
@click.option("--local-bandwidth", type=size, help="Bytes per second between workers of a host.")
@click.option(
    "--graph", type=click.Path(exists=True, dir_okay=False), help="MetaGraph to take --model and --compute of."
)
@click.option("--train-op", help="The operation of the graph that a step runs. [default: the collection train_op]")
@click.option(
    "--costs", type=click.Path(exists=True, dir_okay=False), help="Measured cost model, for --graph and links."
)
@click.option("--link", metavar="ADDRESS", help="Cluster to measure --latency and --bandwidth at: host:port of a task.")
@click.option("--device", default="CPU", show_default=True, help="Device type of the workers, for --graph.")
@click.option("--failures", type=float, help="Mean seconds between failures of one task.")
@click.option("--detection", type=float, default=10.0, show_default=True, help="Seconds until a failure is noticed.")
@click.option("--recovery", type=float, default=20.0, show_default=True, help="Seconds until the task works again.")
@click.option(
    "--checkpoint-interval", type=float, default=600.0, show_default=True, help="Seconds between checkpoints."
)
@click.option("--checkpoint-seconds", type=float, default=0.0, help="Seconds that training stops for a checkpoint.")
@click.option("--steps", type=click.IntRange(min=1), default=50, show_default=True, help="Steps per worker.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--plot", type=click.Path(dir_okay=False), help="Also draw a figure: curves.png, .svg or .pdf.")
def simulate_command(**options: Any) -> None:
    """Simulate data-parallel training: step time, throughput, staleness and the load of parameter servers.

    A worker's step pulls all parameters, computes, and pushes gradients, which the parameter servers apply. Workers
    compete for the network and the cores of the parameter servers. What is not given costs nothing.

    \b
    thalweg simulate --workers 25,50,100,200 --ps 17 --model 108MB --batch 32 --compute 1.7 --bandwidth 10Gbit
    thalweg simulate --mode sync --workers 50 --backups 0:5 --compute 1.7 --stragglers 0.05 --straggler-mean 0.4
    thalweg simulate --graph model.meta --costs costs.json --mode async --mode all_reduce --workers 1:8
    """
    try:
        scenario = _scenario(options)
        failures = None if options["failures"] is None else _failures(options)
        modes = options["modes"] or ("async",)
        results = sweep(
            scenario, options["workers"], modes, options["backups"], options["steps"], options["seed"], failures
        )
        if options["plot"]:
            draw(results, options["plot"])
    except (OpError, ImportError) as error:
        raise click.UsageError(str(error)) from None
    click.echo(report(results, options["form"]))


def _scenario(options: dict[str, Any]) -> Scenario:
    try:
        costs = CostModel.load(options["costs"]) if options["costs"] else None
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--costs: {error}") from None
    remote = costs.links["remote"] if costs else FREE
    if options["link"]:
        remote = measure_link(f"grpc://{options['link'].removeprefix('grpc://')}")
    bandwidth = options["bandwidth"] or remote.bandwidth
    samples = options["compute"]
    scenario = Scenario(
        shards=even_shards(options["model"], options["ps"]),
        batch=options["batch"],
        compute=Compute(
            samples[0] if samples else 0.0,
            options["sigma"],
            samples if len(samples) > 1 else (),
            options["stragglers"],
            options["straggler_factor"],
            options["straggler_delay"],
            options["straggler_mean"],
        ),
        link=Link(options["latency"] or remote.latency, bandwidth),
        ps_link=Link(0.0, options["ps_bandwidth"] or bandwidth, options["message"] or remote.overhead),
        sharing=options["sharing"],
        apply=options["apply"] or math.inf,
        accumulate=options["accumulate"] or math.inf,
        ps_cores=options["ps_cores"],
        host_cores=options["host_cores"],
        buckets=options["buckets"],
        per_host=options["per_host"],
        local_bandwidth=options["local_bandwidth"] or math.inf,
    )
    if not options["graph"]:
        return scenario
    program = _read_program(options, costs)
    apply = max(program.shards) / program.update if program.update else scenario.apply
    return replace(
        scenario,
        shards=program.shards,
        compute=replace(scenario.compute, median=program.compute),
        apply=options["apply"] or apply,
    )


def _failures(options: dict[str, Any]) -> Failures:
    return Failures(
        options["failures"],
        options["detection"],
        options["recovery"],
        options["checkpoint_interval"],
        options["checkpoint_seconds"],
    )


def _read_program(options: dict[str, Any], costs: CostModel | None) -> ProgramCosts:
    """Estimates the step of a MetaGraph; unknown dimensions count as the batch."""
    import thalweg as tf

    costs = costs or CostModel()
    costs.sizes.unknown = options["batch"]
    with tf.Graph().as_default() as graph:
        try:
            tf.train.import_meta_graph(options["graph"])
        except (OSError, ValueError) as error:
            raise click.UsageError(f"--graph: {error}") from None
        operation = _train_op(graph, options["train_op"])
        variables = [variable.op for variable in tf.trainable_variables()]
    return program_costs(operation, variables, options["ps"], costs, f"/device:{options['device']}:0")


def _train_op(graph: Graph, name: str | None) -> Any:
    candidates = list(dict.fromkeys(graph.get_collection("train_op"))) if name is None else [name]
    if len(candidates) != 1:
        raise click.UsageError(
            f"--train-op: name the operation of a step; the collection train_op has {len(candidates)}"
        )
    try:
        element = graph.as_graph_element(candidates[0])
    except (KeyError, ValueError) as error:
        raise click.UsageError(f"--train-op: {error}") from None
    return getattr(element, "op", element)
