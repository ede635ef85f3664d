"""The programs in the documentation run and print what it shows."""

import importlib.util
import pathlib
import re
import runpy
import sys
import traceback

import pytest
import torch

import thalweg as tf
from tests import children
from tests.cluster.distributed.clusters import run_script
from thalweg._src.runtime.passes import PASSES
from thalweg._src.tools.cli.names import PublicNames

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")])
NUMBER = re.compile(r"\d+\.\d*")
NOT_YET = re.compile(r"\*not yet\*(?: \(`([^`]+)`\))?")
ANY_NOT_YET = re.compile(r"\bnot (?:\w+ )?yet\b")
PROMISE = re.compile(
    r"\bnot (?:implemented|supported|available|there) yet\b|\bnot yet (?:implemented|supported|available|there)\b"
    r"|reason=\"[^\"]*\byet\b|\bTODO\b|\bFIXME\b"
)
on_cpu = pytest.mark.skipif(torch.cuda.is_available(), reason="the pages show a machine without a GPU")


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(page):
    """Returns the programs and outputs of a page, in their order."""
    return re.findall(r"^```\w+\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def run(program):
    """Runs the text of a program as the file train.py."""
    exec(compile(program, "train.py", "exec"), {"__name__": "__main__"})


# -- the journey ------------------------------------------------------------------------------------------------------


def test_the_journey_shows_every_stage(capsys):
    load(ROOT / "docs/journey.py").main()
    text = capsys.readouterr().out
    for stage in ("1 prune", "2 optimize", "3 place", "4 partition", "5 compile", "6 execute", "The result"):
        assert f"=== {stage}" in text
    assert "_FusedMatMul" in text and "_ApplyMomentumGroup" in text
    assert "def segment_0(step" in text and "# waits for: " in text


def test_the_journey_names_files_and_is_short():
    text = (ROOT / "docs/journey.py").read_text()
    paths = re.findall(r"src/[\w./]+\w", text)
    assert len(paths) >= 8
    assert not [path for path in paths if not (ROOT / path).exists()]
    assert len(text.splitlines()) < 150


# -- programs and what they print -------------------------------------------------------------------------------------


@pytest.mark.cpu_only(reason="pages show what a machine without GPUs prints")
@on_cpu
@pytest.mark.parametrize("page", ["README.md", "docs/start.md", "docs/collectives.md"])
def test_a_page_prints_what_it_shows(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    programs, outputs = blocks(page)[::2], blocks(page)[1::2]
    run("".join(programs))
    printed, shown = capsys.readouterr().out, "".join(outputs)
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split()
    values = [[float(digits) for digits in NUMBER.findall(text)] for text in (printed, shown)]
    assert values[0] == pytest.approx(values[1], abs=0.05)


@on_cpu
def test_converted_functions_print_what_is_shown(tmp_path, capsys):
    programs, outputs = blocks("docs/autograph.md")[::2], blocks("docs/autograph.md")[1::2]
    (tmp_path / "train.py").write_text("".join(programs))
    with tf.Graph().as_default():
        runpy.run_path(str(tmp_path / "train.py"))
    assert capsys.readouterr().out == "".join(outputs)


def test_the_migration_example_is_checked_as_shown(tmp_path):
    program, shown = blocks("docs/migrating.md")
    (tmp_path / "train.py").write_text(program)
    command = [sys.executable, "-m", "thalweg._src.tools.cli.main", "check", "train.py"]
    done = children.run(command, cwd=tmp_path, env=children.environment(), check=False, forked=True)
    assert (done.returncode, done.stdout) == (1, shown)


@pytest.mark.cpu_only(reason="pages show what a machine without GPUs prints")
@on_cpu
@pytest.mark.parametrize("case", range(len(blocks("docs/errors.md")) // 2))
def test_errors_look_as_shown(case):
    program, shown = blocks("docs/errors.md")[2 * case : 2 * case + 2]
    with pytest.raises(Exception) as caught:
        run(program)
    assert "".join(traceback.format_exception_only(caught.value)) == shown


@on_cpu
@pytest.mark.parametrize("page", ["docs/eager.md", "docs/functions.md"])
def test_eager_execution_prints_what_is_shown(page, tmp_path):
    programs, outputs = blocks(page)[::2], blocks(page)[1::2]
    (tmp_path / "train.py").write_text("".join(programs))
    done = children.run([sys.executable, "train.py"], cwd=tmp_path, env=children.environment(), check=False)
    assert (done.returncode, done.stdout) == (0, "".join(outputs)), done.stderr


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="there the debugger stops one line before")
def test_a_debugger_shows_what_is_shown(tmp_path):
    program, shown = blocks("docs/debugging.md")[:2]
    (tmp_path / "train.py").write_text(program)
    (tmp_path / "commands").write_text("".join(re.findall(r"^\(Pdb\) (.*\n)", shown, re.MULTILINE)))
    with (tmp_path / "commands").open() as stdin:
        command = [sys.executable, "train.py"]
        environment = children.environment(PYTHONBREAKPOINT="")  # Ray sets it in a process that imports it
        done = children.run(command, cwd=tmp_path, env=environment, check=False, stdin=stdin)
    printed = done.stdout.replace(f"{tmp_path}/", "")
    assert (done.returncode, printed) == (0, re.sub(r"^\(Pdb\) .*\n", "(Pdb) ", shown, flags=re.MULTILINE)), done.stderr


def test_the_distributed_program_prints_what_is_shown(tmp_path):
    program, shown = blocks("docs/distributed.md")[:2]
    (tmp_path / "train.py").write_text(program)
    assert run_script([sys.executable, "train.py"], cwd=tmp_path, ps=1, worker=1) == [shown]


@on_cpu
def test_strategies_print_what_is_shown(capsys):
    program, shown = blocks("docs/strategies.md")[:2]
    run(program)
    assert capsys.readouterr().out == shown


@pytest.mark.slow
def test_workers_of_a_strategy_print_what_is_shown(tmp_path):
    program, shown = blocks("docs/strategies.md")[2:]
    (tmp_path / "train.py").write_text(program)
    assert run_script([sys.executable, "train.py"], cwd=tmp_path, worker=2) == [shown, shown]


def test_graphs_are_frozen_and_quantized_as_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for page in ("docs/freeze.md", "docs/quantize.md"):
        with tf.Graph().as_default():
            run("".join(blocks(page)))
    assert capsys.readouterr().out.startswith("agreement ")


def test_saved_models_are_as_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for program in blocks("docs/saved_models.md"):
        with tf.Graph().as_default():
            run(program)


def test_the_demo_learns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    accuracy = load(ROOT / "examples/digits.py").main()
    assert accuracy > 0.97
    assert (tmp_path / "runs/digits/digits.png").stat().st_size > 10_000
    assert "wrote runs/digits/digits.png" in capsys.readouterr().out


# Examples that train for long, and what makes them short.
LONG = {
    **dict.fromkeys(("alexnet.py", "inception_v3.py", "resnet18.py"), ("--steps", "2", "--width", "0.125")),
    **dict.fromkeys(("char_rnn.py", "language_model.py", "translate.py"), ("--steps", "20")),
    **dict.fromkeys(("data_parallel.py", "mirrored.py", "model_parallel.py"), ("--steps", "20")),
    **dict.fromkeys(("wide_embedding.py", "word2vec.py"), ("--steps", "100")),
}


@pytest.mark.parametrize("example", sorted(p.name for p in (ROOT / "examples").glob("*.py") if p.name != "digits.py"))
def test_examples_run(example, tmp_path):
    command = [sys.executable, ROOT / "examples" / example, *LONG.get(example, ())]
    children.run(command, cwd=tmp_path, env=children.environment(), forked=True)


@pytest.mark.slow
@pytest.mark.parametrize("example", LONG)
def test_long_examples_run_to_their_end(example, tmp_path):
    command = [sys.executable, ROOT / "examples" / example]
    children.run(command, cwd=tmp_path, env=children.environment(), forked=True)


# -- links and paths --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_exist(page):
    text = NOT_YET.sub("", page.read_text())
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    paths = re.findall(r"`((?:src|tests|docs|bench|examples)/[\w./]*)(?:::(\w+))?`", text)
    for path, test in paths:
        if not (ROOT / path).exists() or (test and f"def {test}(" not in (ROOT / path).read_text()):
            missing.append(f"{path}::{test}" if test else path)
    assert not missing


def test_the_map_of_the_papers_is_complete():
    text = (ROOT / "docs/paper.md").read_text()
    assert len(re.findall(r"`(?:src|tests|docs|bench|examples)/", text)) > 100
    for section in ("3.2.1", "3.2.2", "4.1", "4.4", "4.7", "5.1", "5.5", "9.2", "3.4", "4.2", "6.1"):
        assert f"| {section} " in text


def rows(page, head):
    """Returns the rows below the head of a table, as lists of cells."""
    table = (ROOT / page).read_text().partition(head)[2].partition("\n\n")[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]


def test_the_table_of_passes_is_that_of_the_code():
    listed = [
        re.match(r"[^:,]+", cells[1])[0].strip() for cells in rows("docs/architecture.md", "| stage | pass | file |")
    ]
    assert listed == [*(each.name for each in PASSES), "no pass"]


def test_the_files_of_the_cluster_are_listed_once():
    folder = "src/thalweg/_src/cluster/distributed/"
    cells = [cells[0] for cells in rows("docs/distributed.md", f"| file in [cluster/distributed/](../{folder}) | |")]
    listed = re.findall(r"`(\w+\.py)`", " ".join(cells))
    assert sorted(listed) == sorted(path.name for path in (ROOT / folder).glob("*.py") if path.name != "__init__.py")


def test_planned_features_are_missing():
    named = [name for page in PAGES for name in NOT_YET.findall(page.read_text())]
    assert all(named), "each *not yet* names the path or the public name that would exist: *not yet* (`...`)"
    known = PublicNames()
    assert not [path for path in named if path.startswith("tf.") and known.has(tuple(path.split(".")[1:]))]
    assert not [path for path in named if not path.startswith("tf.") and (ROOT / path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_says_not_yet_only_where_it_is_checked(page):
    assert not ANY_NOT_YET.findall(NOT_YET.sub("", page.read_text())), "write *not yet* (`path or name`)"


def test_code_promises_nothing():
    folders = [ROOT / name for name in ("src", "tests", "bench", "examples", "tools")]
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for folder in folders
        for path in folder.rglob("*.py")
        if path != pathlib.Path(__file__)
        for match in PROMISE.finditer(path.read_text())
    ]
    assert not found, "say what is; what is missing belongs to docs/paper.md"


def test_names_said_to_be_missing_are_missing():
    table = (ROOT / "docs/migrating.md").read_text().partition("| missing | instead |")[2].partition("\n\n")[0]
    names = [name for row in table.splitlines() for name in re.findall(r"`tf\.([\w.]+)`", row.split(" | ")[0])]
    assert "estimator.BoostedTreesClassifier" in names
    assert not [name for name in names if PublicNames().has(tuple(name.split(".")))]


def test_decisions_are_numbered_and_listed():
    index = (ROOT / "docs/decisions/README.md").read_text()
    for page in (ROOT / "docs/decisions").glob("0*.md"):
        number = int(page.name[:4])
        assert page.read_text().startswith(f"# {number}. ")
        assert re.search(rf"^\| {number} \| \[.*\]\({page.name}\) \| .+ \|$", index, re.MULTILINE)
        assert f"decisions/{page.name}" in (ROOT / "mkdocs.yml").read_text()


# -- the API reference ------------------------------------------------------------------------------------------------


def test_the_reference_describes_each_name_once():
    pages = load(ROOT / "docs/reference.py").pages()
    assert "```python\ntf.nn.relu(features, name=None)\n```" in pages["reference/tf.nn.md"]
    described = re.findall(r"^## (tf\.[\w.]+) ", "".join(pages.values()), re.MULTILINE)
    aliases = re.findall(r"^\| `(tf\.[\w.]+)` \| \[", "".join(pages.values()), re.MULTILINE)
    assert len(set(described)) == len(described) > 1500 and not set(described) & set(aliases)
    for name in ("tf.Session", "tf.global_variables", "tf.train.AdamOptimizer", "tf.contrib.slim.arg_scope"):
        assert name in described or name in aliases


def test_the_reference_lists_parameters():
    doc = "Does it.\n\nArgs:\n  a: The first,\n    of two.\n  *rest: See `f(*x)` and a_b."
    shown = load(ROOT / "docs/reference.py")._markdown(doc)
    assert shown == "Does it.\n\n**Args**\n\n- `a`: The first, of two.\n- `*rest`: See `f(*x)` and a\\_b."
