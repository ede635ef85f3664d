"""docs/estimators.md shows what its programs print."""

import runpy

import thalweg as tf
from tests.test_docs import blocks


def test_the_programs_of_the_page_print_what_it_shows(tmp_path, capsys):
    programs, outputs = blocks("docs/estimators.md")[::2], blocks("docs/estimators.md")[1::2]
    (tmp_path / "train.py").write_text("".join(programs))
    level = tf.logging.get_verbosity()
    try:
        runpy.run_path(str(tmp_path / "train.py"))
    finally:
        tf.logging.set_verbosity(level)
    assert capsys.readouterr().out == "".join(outputs)
