"""tf.app and tf.flags, in programs of their own."""

import sys

import pytest

from tests import children

PROGRAM = """
import thalweg as tf
flags = tf.app.flags
flags.DEFINE_integer("steps", 10, "how many")
flags.DEFINE_string(flag_name="data_dir", default_value="/tmp", docstring="where")
flags.DEFINE_boolean("fast", False, "how")
tf.flags.DEFINE_float("rate", 0.5, "rate", lower_bound=0)
tf.flags.DEFINE_enum("mode", "train", ["train", "test"], "what")
tf.flags.DEFINE_list("names", "a,b", "names")
FLAGS = flags.FLAGS
"""


def run(program, *arguments):
    return children.run([sys.executable, "-c", PROGRAM + program, *arguments], check=False, forked=True)


def test_run_parses_the_flags_and_calls_main_with_the_rest():
    main = "def main(argv):\n  print(argv[1:], FLAGS.steps, FLAGS.data_dir, FLAGS.fast, FLAGS.rate, FLAGS.mode)\n"
    arguments = ["--steps=3", "file", "--data_dir", "/d", "--fast", "--rate=1e-3", "--mode=test"]
    done = run(main + "tf.app.run()", *arguments)
    assert done.stdout == "['file'] 3 /d True 0.001 test\n"
    assert done.returncode == 0
    assert run("tf.app.run(main=lambda argv: 3)").returncode == 3


def test_reading_a_flag_parses_the_command_line():
    assert run("print(FLAGS.steps, FLAGS.names)", "--steps=4").stdout == "4 ['a', 'b']\n"


def test_flags_are_set_listed_and_looked_up():
    program = (
        "FLAGS.steps = 5\nprint(FLAGS['steps'].value, 'rate' in FLAGS, 'none' in FLAGS)\nprint(hasattr(FLAGS, 'q'))"
    )
    assert run(program).stdout == "5 True False\nFalse\n"


@pytest.mark.parametrize("argument", ["--rate=-1", "--steps=x", "--mode=none"])
def test_invalid_values_are_rejected(argument):
    done = run("tf.app.run(main=lambda argv: 0)", argument)
    assert done.returncode == 1
    assert "flag" in done.stderr.lower()


def test_flags_belong_to_the_module_that_defines_them():
    assert "how many" in run("tf.app.run(main=lambda argv: 0)", "--help").stdout
