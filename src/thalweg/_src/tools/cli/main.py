"""The `thalweg` command and its subcommands."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import click

from thalweg._src.base import errors
from thalweg._src.graph.versions import THALWEG_VERSION
from thalweg._src.tools.cli import status
from thalweg._src.tools.cli.check import Report, check_files
from thalweg._src.tools.cli.cluster import Jobs, commands as cluster_commands
from thalweg._src.tools.cli.cluster_config import ClusterConfig, find_config
from thalweg._src.tools.cli.export import export_command
from thalweg._src.tools.cli.freeze import freeze_command, optimize_command
from thalweg._src.tools.cli.predict import predict_command
from thalweg._src.tools.cli.run import Program, parse, run
from thalweg._src.tools.cli.serve import serve_command
from thalweg._src.tools.cli.server import serve
from thalweg._src.tools.cli.show import show_command
from thalweg._src.tools.cli.simulate import simulate_command
from thalweg._src.tools.cli.supervisor import Supervisor


@click.group()
@click.version_option(THALWEG_VERSION, prog_name="thalweg")
def commands() -> None:
    """Thalweg: TensorFlow 1 programs on today's machines."""


@commands.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--legacy", is_flag=True, help="Restore names that NumPy, SciPy, Python and others have removed since.")
@click.option("--force", is_flag=True, help="Run although a TensorFlow is installed, which the program will not see.")
@click.argument("arguments", metavar="SCRIPT [ARGS]...", nargs=-1, type=click.UNPROCESSED)
def run_program(legacy: bool, force: bool, arguments: tuple[str, ...]) -> Program:
    """Run a program for TensorFlow 1 as it is: its `import tensorflow` imports Thalweg.

    SCRIPT is what `python` accepts in its place: the path of a script or folder, `-m MODULE`, `-c CODE`, or `-` for
    standard input, an interactive session on a terminal. Processes that the program starts import Thalweg too.
    """
    options = {"legacy": legacy, "force": force}
    return parse(arguments, tuple(name for name, is_on in options.items() if is_on))


@commands.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of lines.")
def check(paths: tuple[Path, ...], as_json: bool) -> None:
    """List the names of TensorFlow that programs use and Thalweg lacks, and whether they need `run --legacy`.

    PATHS are Python files, notebooks, or folders of them. Nothing is run. The exit status is 0 if every name
    is available, 1 if some are missing, and 2 if a file cannot be read or parsed.
    """
    report = check_files(paths)
    if as_json:
        click.echo(json.dumps(asdict(report), indent=2))
    else:
        _show(report)
    sys.exit(2 if report.failures else 1 if report.missing else 0)


@commands.command()
@click.option("--cluster", metavar="JSON|FILE", help="The addresses of all tasks by job, in the place of TF_CONFIG.")
@click.option("--job", help="The job of the task, such as ps.")
@click.option("--task", type=click.IntRange(min=0), help="The number of the task in its job.")
def server(cluster: str | None, job: str | None, task: int | None) -> None:
    """Serve a task of a cluster until SIGTERM or Ctrl-C.

    The cluster is {"ps": ["host:port", ...], "worker": [...]}; without --cluster, it and the task are those of the
    environment variable TF_CONFIG. One line is written when the task can be reached. A server that other machines can
    reach needs credentials in its environment, such as THALWEG_CLUSTER_TOKEN. The exit status is 0 after SIGTERM, 130
    after Ctrl-C.
    """
    config = find_config(cluster)
    if job is None:
        job, task = config.job, config.index if task is None else task
    sys.exit(serve(ClusterConfig(config.cluster, job, task)))


@commands.command("cluster", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--ps", type=click.IntRange(min=0), default=1, show_default=True, help="How many parameter servers.")
@click.option("--workers", type=click.IntRange(min=0), default=1, show_default=True, help="How many workers.")
@click.option("--chief", is_flag=True, help="Start a chief besides the workers.")
@click.option("--evaluator", is_flag=True, help="Start an evaluator, which is not a part of the cluster.")
@click.option(
    "--restart", type=click.IntRange(min=0), default=0, show_default=True, help="How often to restart each failed task."
)
@click.option(
    "--pass-flags",
    is_flag=True,
    help="Run SCRIPT at all tasks, with --job_name, --task_index, --ps_hosts and --worker_hosts.",
)
@click.option("--legacy", is_flag=True, help="As for `thalweg run`.")
@click.option("--force", is_flag=True, help="As for `thalweg run`.")
@click.argument("script", metavar="SCRIPT [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED)
def run_cluster(
    ps: int,
    workers: int,
    chief: bool,
    evaluator: bool,
    restart: int,
    pass_flags: bool,
    legacy: bool,
    force: bool,
    script: tuple[str, ...],
) -> None:
    """Run a program as a cluster of processes on this machine.

    Workers, chief and evaluator execute SCRIPT as `thalweg run` does, the parameter servers `thalweg server`. Each
    finds the cluster and its task in TF_CONFIG. All that they write is shown line by line, with the task in front.

    The cluster ends when chief and workers have ended. If a task fails, it is started again at its address, at most as
    often as --restart says; after that the others are stopped, and the exit status is that of the task. Ctrl-C stops
    all. OMP_NUM_THREADS, unless it is set, shares the cores out among the processes.
    """
    options = tuple(name for name, is_on in {"legacy": legacy, "force": force}.items() if is_on)
    started = cluster_commands(Jobs(ps, workers, chief, evaluator), script, options, pass_flags)
    sys.exit(Supervisor(started, restart).run())


@commands.command("status")
@click.argument("addresses", metavar="[ADDRESS]...", nargs=-1)
@click.option("--cluster", metavar="JSON|FILE", help="The addresses of all tasks by job, in the place of TF_CONFIG.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=5.0, show_default=True, help="Seconds.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON array instead of a table.")
def show_status(addresses: tuple[str, ...], cluster: str | None, timeout: float, as_json: bool) -> None:
    """Show what the tasks of a cluster do, and what their running steps wait for.

    The tasks are those at the given addresses (host:port), or else those of --cluster or TF_CONFIG. The exit status is
    1 if one of them does not answer.
    """
    tasks = dict.fromkeys(addresses, "") or status.addresses(find_config(cluster).cluster)
    statuses = status.ask(tasks, timeout)
    if as_json:
        click.echo(json.dumps([task.as_dict() for task in statuses], indent=2))
    else:
        for line in status.table(statuses):
            click.echo(line)
    sys.exit(0 if all(task.status is not None for task in statuses) else 1)


commands.add_command(export_command)
commands.add_command(freeze_command)
commands.add_command(optimize_command)
commands.add_command(serve_command)
commands.add_command(predict_command)
commands.add_command(show_command)
commands.add_command(simulate_command)


def _show(report: Report) -> None:
    for use in report.missing:
        nearest = f"; nearest: {use.nearest}" if use.nearest else ""
        click.echo(f"{use.file}:{use.line}:{use.column}: {use.name} is missing{nearest}")
    for use in report.legacy:
        click.echo(f"{use.file}:{use.line}:{use.column}: {use.name} needs --legacy")
    for failure in report.failures:
        click.echo(f"{failure.file}:{failure.line}: {failure.message}", err=True)
    missing, legacy = (Counter(use.file for use in uses) for uses in (report.missing, report.legacy))
    old = sum(failure.python_2 for failure in report.failures)
    if report.files > 1:
        for file in sorted({*missing, *legacy}):
            click.echo(f"{file}: {missing[file]} uses of missing names, {legacy[file]} that need --legacy")
    files = _count(report.files, "file")
    if report.missing:
        distinct = len({use.name for use in report.missing})
        click.echo(f"{files}: {distinct} of {report.names} names are missing")
    elif not report.failures:
        click.echo(f"{files}: all {report.names} names are available")
    if report.legacy:
        click.echo(f"run with --legacy: {_count(len(legacy), 'file')} with names that Python, NumPy or others removed")
    if old:
        click.echo(f"{_count(old, 'file')} for Python 2, to be converted first")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def main(arguments: list[str] | None = None, program_name: str = "thalweg") -> None:
    """Executes a command line, by default that of the process."""
    try:
        program = commands.main(arguments, program_name, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(1)
    except ModuleNotFoundError as error:  # of what every installation has; features name the packages of extras
        if error.name is None or error.name.partition(".")[0] == "thalweg":
            raise
        click.ClickException(str(errors.MissingPackageError("thalweg", error.name, "thalweg"))).show()
        sys.exit(1)
    if isinstance(program, Program):  # which runs outside of click, since that treats some exceptions in its own way
        run(program)


def module_main() -> None:
    """Executes `python -m thalweg`: `run` may be left out, so that a script stands where `python` expects it."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] not in (*commands.commands, "--help", "--version"):
        arguments = ["run", *arguments]
    main(arguments, "python -m thalweg")


if __name__ == "__main__":
    main()
