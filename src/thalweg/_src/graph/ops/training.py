"""Optimizer update ops: one per update rule, dense and sparse (for some rows)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape, compatible, show
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import require, with_rank
from thalweg._src.graph.ops.state import handle_shape, is_variable

_TYPES = dtypes.NUMERIC | dtypes.QUANTIZED
_GRADIENTS = ("grad", "delta")


def _arguments(c: Inference) -> list[tuple[str, int]]:
    """Returns the name and the position of every input, with lists expanded."""
    count = c.attrs.get("N", 1)
    names = [arg.name for arg in c.definition.inputs for _ in range(count if arg.is_list else 1)]
    return [(name, index) for index, name in enumerate(names)]


def _whole(c: Inference) -> Sequence[Shape]:
    """Requires variables and gradients of one shape, and scalars otherwise."""
    variables: list[Shape] = []
    position = 0
    for name, index in _arguments(c):
        if is_variable(c, index):
            variables.append(handle_shape(c, index))
        elif name in _GRADIENTS:
            count = c.attrs.get("N", 1)
            for held in variables[position % count :: count]:
                _same_shape(held, c.shapes[index], name)
            position += 1
        else:
            _scalar(c, name, index)
    return []


def _rows(c: Inference) -> Sequence[Shape]:
    """Requires variables of one shape, one row of the gradient per index, and scalars otherwise."""
    positions = dict(_arguments(c))
    (count,) = with_rank(c, positions["indices"], 1) or (None,)
    grad = c.shapes[positions["grad"]]
    for name, index in positions.items():
        if is_variable(c, index):
            held = handle_shape(c, index)
            require(held is None or len(held) > 0, f"{name} is a scalar", expected=f"{name} of rank at least 1")
            _same_shape(None if held is None else (count, *held[1:]), grad, "grad")
        elif name not in ("grad", "indices"):
            _scalar(c, name, index)
    return []


def _same_shape(expected: Shape, shape: Shape, name: str) -> None:
    require(
        compatible(expected, shape), f"{name} has shape {show(shape)}", expected=f"{name} of shape {show(expected)}"
    )


def _scalar(c: Inference, name: str, index: int) -> None:
    require(c.shapes[index] in (None, ()), f"{name} has shape {show(c.shapes[index])}", expected=f"a scalar {name}")


def _typed(variables: str, arguments: str) -> str:
    """Returns a schema: variables are resources, and arguments without a type are of type T."""
    inputs = [f"{name}: resource" for name in variables.split(", ")]
    inputs += [argument if ":" in argument else f"{argument}: T" for argument in arguments.split(", ")]
    return f"{', '.join(inputs)} ->"


def _dense(name: str, signature: str, doc: str, **attrs: Any) -> OpDef:
    return stateful_op(
        name,
        signature,
        doc,
        T=_TYPES,
        use_locking=False,
        **attrs,
        infer=_whole,
        writes=True,
        traceable=True,
        capturable=True,
    )


def _update(rule: str, variables: str, arguments: str, doc: str, **attrs: Any) -> OpDef:
    """Registers the dense update of a rule."""
    return _dense(f"ResourceApply{rule}", _typed(variables, arguments), doc, **attrs)


def _updates(rule: str, variables: str, arguments: str, doc: str, **attrs: Any) -> tuple[OpDef, OpDef]:
    """Registers the dense update of a rule, and the sparse one of the rows at `indices`."""
    dense = _update(rule, variables, arguments, doc, **attrs)
    sparse = stateful_op(
        f"ResourceSparseApply{rule}",
        _typed(variables, re.sub("grad|delta", "grad, indices: Tindices", arguments)),
        f"Applies ResourceApply{rule} to some rows.",
        T=_TYPES,
        Tindices=dtypes.INDEX,
        use_locking=False,
        **attrs,
        infer=_rows,
        writes=True,
    )
    return dense, sparse


resource_apply_gradient_descent = _update(
    "GradientDescent", "var", "alpha, delta", "Applies gradient descent: var -= alpha * delta."
)
resource_apply_momentum, resource_sparse_apply_momentum = _updates(
    "Momentum",
    "var, accum",
    "lr, grad, momentum",
    "Applies momentum: accum = momentum * accum + grad; var -= lr * accum.",
    use_nesterov=False,
)
resource_apply_keras_momentum, resource_sparse_apply_keras_momentum = _updates(
    "KerasMomentum",
    "var, accum",
    "lr, grad, momentum",
    "Applies Keras's momentum: accum = momentum * accum - lr * grad; var += accum.",
    use_nesterov=False,
)
resource_apply_adagrad, resource_sparse_apply_adagrad = _updates(
    "Adagrad",
    "var, accum",
    "lr, grad",
    "Applies Adagrad: accum += grad ** 2; var -= lr * grad / sqrt(accum).",
    update_slots=True,
)
resource_apply_adagrad_v2, resource_sparse_apply_adagrad_v2 = _updates(
    "AdagradV2",
    "var, accum",
    "lr, epsilon, grad",
    "Applies Adagrad with an epsilon: accum += grad ** 2; var -= lr * grad / (sqrt(accum) + epsilon).",
    update_slots=True,
)
resource_apply_adadelta, resource_sparse_apply_adadelta = _updates(
    "Adadelta",
    "var, accum, accum_update",
    "lr, rho, epsilon, grad",
    "Applies Adadelta: scales the gradient by the ratio of recent update sizes to recent gradient sizes.",
)
resource_apply_rms_prop, resource_sparse_apply_rms_prop = _updates(
    "RMSProp",
    "var, ms, mom",
    "lr, rho, momentum, epsilon, grad",
    "Applies RMSProp: a momentum step of the gradient over its moving root mean square.",
)
resource_apply_centered_rms_prop, resource_sparse_apply_centered_rms_prop = _updates(
    "CenteredRMSProp",
    "var, mg, ms, mom",
    "lr, rho, momentum, epsilon, grad",
    "Applies centered RMSProp: a momentum step of the gradient over its moving standard deviation.",
)
resource_apply_adam = _update(
    "Adam",
    "var, m, v",
    "beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad",
    "Applies Adam: var -= lr_t * m / (sqrt(v) + epsilon), with moving moments m and v of the gradient.",
    use_nesterov=False,
)
resource_apply_adam_with_amsgrad = _update(
    "AdamWithAmsgrad",
    "var, m, v, vhat",
    "beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad",
    "Applies AMSGrad: Adam with the maximum of the second moments so far.",
)
resource_apply_ada_max = _update(
    "AdaMax",
    "var, m, v",
    "beta1_power, lr, beta1, beta2, epsilon, grad",
    "Applies AdaMax: Adam with the infinity norm of recent gradients.",
)
resource_apply_ftrl, resource_sparse_apply_ftrl = _updates(
    "Ftrl",
    "var, accum, linear",
    "grad, lr, l1, l2, lr_power",
    "Applies FTRL-Proximal (follow the regularized leader).",
    multiply_linear_by_lr=False,
)
resource_apply_ftrl_v2, resource_sparse_apply_ftrl_v2 = _updates(
    "FtrlV2",
    "var, accum, linear",
    "grad, lr, l1, l2, l2_shrinkage, lr_power",
    "Applies FTRL-Proximal with an additional shrinkage penalty on the variable.",
    multiply_linear_by_lr=False,
)
resource_apply_proximal_gradient_descent, resource_sparse_apply_proximal_gradient_descent = _updates(
    "ProximalGradientDescent",
    "var",
    "alpha, l1, l2, delta",
    "Applies proximal gradient descent: a gradient step, then shrinkage by the l1 and l2 penalties.",
)
resource_apply_proximal_adagrad, resource_sparse_apply_proximal_adagrad = _updates(
    "ProximalAdagrad",
    "var, accum",
    "lr, l1, l2, grad",
    "Applies proximal Adagrad: an Adagrad step, then shrinkage by the l1 and l2 penalties.",
)
resource_apply_adagrad_da, resource_sparse_apply_adagrad_da = _updates(
    "AdagradDA",
    "var, gradient_accumulator, gradient_squared_accumulator",
    "grad, lr, l1, l2, global_step: int64",
    "Applies Adagrad with dual averaging, from the sums of all gradients and of their squares.",
)
resource_apply_add_sign = _update(
    "AddSign",
    "var, m",
    "lr, alpha, sign_decay, beta, grad",
    "Applies AddSign: var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad.",
)
resource_apply_power_sign = _update(
    "PowerSign",
    "var, m",
    "lr, logbase, sign_decay, beta, grad",
    "Applies PowerSign: var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad.",
)

# A step's updates with equal hyperparameters are merged into these: one call for all variables of an optimizer.
apply_gradient_descent_group = _dense(
    "_ApplyGradientDescentGroup",
    "var: N*resource, alpha: T, delta: N*T ->",
    "Applies ResourceApplyGradientDescent to several variables.",
)
apply_momentum_group = _dense(
    "_ApplyMomentumGroup",
    "var: N*resource, accum: N*resource, lr: T, grad: N*T, momentum: T ->",
    "Applies ResourceApplyMomentum to several variables.",
    use_nesterov=False,
)
apply_adam_group = _dense(
    "_ApplyAdamGroup",
    "var: N*resource, m: N*resource, v: N*resource, beta1_power: T, beta2_power: T, "
    "lr: T, beta1: T, beta2: T, epsilon: T, grad: N*T ->",
    "Applies ResourceApplyAdam to several variables.",
    use_nesterov=False,
)
