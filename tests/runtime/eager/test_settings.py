"""Settings of eager execution, callbacks, and `tensorflow.python.eager.context`."""

import numpy as np
import pytest
from thalweg.python.eager import context

import thalweg as tf
import thalweg.contrib.eager as tfe

pytestmark = pytest.mark.usefixtures("eager")


@pytest.fixture(autouse=True)
def no_callbacks():
    yield
    tfe.clear_execution_callbacks()


def test_modes():
    assert context.executing_eagerly() and context.context().in_eager_mode() and not context.in_graph_mode()
    with context.graph_mode():
        assert context.in_graph_mode() and not context.context().executing_eagerly()
        assert isinstance(tf.constant(1).name, str)
        with context.eager_mode():
            assert tfe.in_eager_mode() and tf.constant(1).numpy() == 1


def test_scopes_and_devices():
    settings = context.context()
    settings.ensure_initialized()
    assert tfe.list_devices() == settings.devices() and tfe.list_devices()[0].endswith("CPU:0")
    assert tfe.num_gpus() == settings.num_gpus() == len([name for name in tfe.list_devices() if "GPU" in name])
    assert settings.device_name == settings.scope_name == ""
    with tf.name_scope("a"), settings.device("/cpu:0"):
        assert settings.scope_name == "a/" and settings.device_name == "/device:CPU:0"
    assert isinstance(settings.config, tf.ConfigProto)


def test_execution_modes():
    settings = context.context()
    assert settings.execution_mode == tfe.SYNC
    with tfe.execution_mode(tfe.ASYNC):
        assert settings.execution_mode == tfe.ASYNC
    assert settings.execution_mode == tfe.SYNC
    with pytest.raises(ValueError, match="None/SYNC/ASYNC"):
        tfe.set_execution_mode(7)
    tfe.async_wait()
    tfe.async_clear_error()


def test_the_global_seed():
    context.set_global_seed(3)
    assert context.global_seed() == tf.get_default_graph().seed == 3
    context.set_global_seed(None)
    assert context.global_seed() is None


def test_callbacks_see_operations():
    seen = []
    tfe.add_execution_callback(lambda *operation: seen.append(operation))
    x = tf.constant([1.0, 2.0])
    y = tf.multiply(x, x, name="square")
    op_type, inputs, attrs, outputs, name = seen[-1]
    assert (op_type, name) == ("Mul", "square") and inputs[0] is x and outputs[0] is y
    assert attrs == ("T", tf.float32)
    tfe.clear_execution_callbacks()
    count = len(seen)
    tf.multiply(x, x)
    assert len(seen) == count


def test_infinities_and_not_numbers_are_found():
    zero = tf.constant([0.0, 1.0])
    assert np.isinf((1.0 / zero).numpy()[0])
    assert tfe.seterr(inf_or_nan=tfe.ExecutionCallback.RAISE) == {"inf_or_nan": tfe.ExecutionCallback.IGNORE}
    with pytest.raises(
        Exception, match=r"Output 0 of 1 of the RealDiv operation .*contains inf: 1 inf and 0 nan"
    ) as info:
        1.0 / zero
    assert info.value.op_type == "RealDiv" and info.value.value.shape == (2,)
    with pytest.raises(Exception, match="nan"):
        tf.log(zero - 1.0)
    with tfe.errstate(inf_or_nan="warn"), pytest.warns(UserWarning, match="inf"):
        1.0 / zero
    with tfe.errstate(inf_or_nan="ignore"):
        1.0 / zero
    assert tfe.seterr() == {"inf_or_nan": tfe.ExecutionCallback.RAISE}
    tfe.clear_execution_callbacks()
    tfe.add_execution_callback(tfe.nan_callback)
    1.0 / zero
    with pytest.raises(Exception, match="nan"):
        zero / (zero * 0.0)


def test_printed_warnings(capsys):
    with tfe.errstate(inf_or_nan=tfe.ExecutionCallback.PRINT):
        tf.log([0.0])
    assert "Log operation contains inf" in capsys.readouterr().out
