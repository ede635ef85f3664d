"""RemoteMonitor against a server of HTTP."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

import numpy as np

import thalweg as tf


@contextlib.contextmanager
def listening():
    """Runs a server; yields its address and the list of what it was sent: path, headers and text."""
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            received.append((self.path, dict(self.headers), text))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def train(*monitors):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse", metrics=["mae"])
    return model.fit(np.ones([4, 2]), np.ones([4, 1]), epochs=2, verbose=0, callbacks=list(monitors)).history


def test_a_server_gets_the_values_of_each_epoch():
    with listening() as (address, received):
        as_form = tf.keras.callbacks.RemoteMonitor(address, field="values", headers={"X-Run": "7"})
        as_json = tf.keras.callbacks.RemoteMonitor(address, "/epochs", send_as_json=True)
        history = train(as_form, as_json)
    assert [path for path, _, _ in received] == ["/publish/epoch/end/", "/epochs"] * 2
    for number in range(2):
        (_, headers, form), (_, further, text) = received[2 * number : 2 * number + 2]
        assert headers["X-Run"] == "7" and further["Content-Type"] == "application/json"
        values = json.loads(text)
        assert json.loads(parse_qs(form)["values"][0]) == values
        assert values.pop("epoch") == number and len(values) == 2
        for name, value in values.items():
            np.testing.assert_allclose(value, history[name][number], rtol=1e-6)


def test_training_goes_on_without_a_server(caplog):
    with listening() as (address, _):
        pass
    assert len(train(tf.keras.callbacks.RemoteMonitor(address))["loss"]) == 2
    assert f"nothing was sent to {address}" in caplog.text
