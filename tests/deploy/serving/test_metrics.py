"""Metrics in the text format of Prometheus, and their sum over processes."""

from thalweg._src.deploy.serving.metrics import Metrics, add_up


def test_pages_add_up_line_by_line():
    def counted(*names):
        metrics = Metrics()
        for name in names:
            metrics.requests.add(name, "OK")
            metrics.latency.add(name, "Predict", "REST", value=len(name) + 0.5)
        return metrics.text()

    odd = 'a "model" with spaces\\'
    one, other = counted("m", odd, odd), counted("second", "m", odd)
    both = counted("m", odd, odd, "second", "m", odd)
    assert add_up([one, other]) == both
    assert add_up(["", both]) == both
    assert add_up([]) == ""
