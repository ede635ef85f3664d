"""Optimizer update ops: one per update rule, dense and sparse (for some rows)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src import dtypes
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.ops.declarations import stateful_op
from thalweg._src.ops.shape_functions import require, with_rank
from thalweg._src.ops.state import handle_shape
from thalweg._src.shapes import Shape, compatible, show

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
        if c.dtypes[index] is dtypes.resource:
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
        if c.dtypes[index] is dtypes.resource:
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


def _update(name: str, arguments: str, doc: str, **attrs: Any) -> OpDef:
    """Registers a dense update; arguments without a type are of type T."""
    parts = [part if ":" in part else f"{part}: T" for part in arguments.split(", ")]
    return stateful_op(
        name,
        f"{', '.join(parts)} ->",
        doc,
        T=_TYPES,
        use_locking=False,
        **attrs,
        infer=_whole,
        writes=True,
        traceable=True,
        capturable=True,
    )


def _row_update(name: str, arguments: str, doc: str, **attrs: Any) -> OpDef:
    """Registers a sparse update of the rows at `indices`."""
    parts = [part if ":" in part else f"{part}: T" for part in arguments.split(", ")]
    return stateful_op(
        name,
        f"{', '.join(parts)} ->",
        doc,
        T=_TYPES,
        Tindices=dtypes.INDEX,
        use_locking=False,
        **attrs,
        infer=_rows,
        writes=True,
    )


resource_apply_gradient_descent = _update(
    "ResourceApplyGradientDescent", "var: resource, alpha, delta", "Applies gradient descent: var -= alpha * delta."
)
resource_apply_momentum = _update(
    "ResourceApplyMomentum",
    "var: resource, accum: resource, lr, grad, momentum",
    "Applies momentum: accum = momentum * accum + grad; var -= lr * accum.",
    use_nesterov=False,
)
resource_apply_keras_momentum = _update(
    "ResourceApplyKerasMomentum",
    "var: resource, accum: resource, lr, grad, momentum",
    "Applies Keras's momentum: accum = momentum * accum - lr * grad; var += accum.",
    use_nesterov=False,
)
resource_apply_adagrad = _update(
    "ResourceApplyAdagrad",
    "var: resource, accum: resource, lr, grad",
    "Applies Adagrad: accum += grad ** 2; var -= lr * grad / sqrt(accum).",
    update_slots=True,
)
resource_apply_adagrad_v2 = _update(
    "ResourceApplyAdagradV2",
    "var: resource, accum: resource, lr, epsilon, grad",
    "Applies Adagrad with an epsilon: accum += grad ** 2; var -= lr * grad / (sqrt(accum) + epsilon).",
    update_slots=True,
)
resource_apply_adadelta = _update(
    "ResourceApplyAdadelta",
    "var: resource, accum: resource, accum_update: resource, lr, rho, epsilon, grad",
    "Applies Adadelta: scales the gradient by the ratio of recent update sizes to recent gradient sizes.",
)
resource_apply_rms_prop = _update(
    "ResourceApplyRMSProp",
    "var: resource, ms: resource, mom: resource, lr, rho, momentum, epsilon, grad",
    "Applies RMSProp: a momentum step of the gradient over its moving root mean square.",
)
resource_apply_centered_rms_prop = _update(
    "ResourceApplyCenteredRMSProp",
    "var: resource, mg: resource, ms: resource, mom: resource, lr, rho, momentum, epsilon, grad",
    "Applies centered RMSProp: a momentum step of the gradient over its moving standard deviation.",
)
resource_apply_adam = _update(
    "ResourceApplyAdam",
    "var: resource, m: resource, v: resource, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad",
    "Applies Adam: var -= lr_t * m / (sqrt(v) + epsilon), with moving moments m and v of the gradient.",
    use_nesterov=False,
)
resource_apply_adam_with_amsgrad = _update(
    "ResourceApplyAdamWithAmsgrad",
    "var: resource, m: resource, v: resource, vhat: resource, "
    "beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad",
    "Applies AMSGrad: Adam with the maximum of the second moments so far.",
)
resource_apply_ada_max = _update(
    "ResourceApplyAdaMax",
    "var: resource, m: resource, v: resource, beta1_power, lr, beta1, beta2, epsilon, grad",
    "Applies AdaMax: Adam with the infinity norm of recent gradients.",
)
resource_apply_ftrl = _update(
    "ResourceApplyFtrl",
    "var: resource, accum: resource, linear: resource, grad, lr, l1, l2, lr_power",
    "Applies FTRL-Proximal (follow the regularized leader).",
    multiply_linear_by_lr=False,
)
resource_apply_ftrl_v2 = _update(
    "ResourceApplyFtrlV2",
    "var: resource, accum: resource, linear: resource, grad, lr, l1, l2, l2_shrinkage, lr_power",
    "Applies FTRL-Proximal with an additional shrinkage penalty on the variable.",
    multiply_linear_by_lr=False,
)
resource_apply_proximal_gradient_descent = _update(
    "ResourceApplyProximalGradientDescent",
    "var: resource, alpha, l1, l2, delta",
    "Applies proximal gradient descent: a gradient step, then shrinkage by the l1 and l2 penalties.",
)
resource_apply_proximal_adagrad = _update(
    "ResourceApplyProximalAdagrad",
    "var: resource, accum: resource, lr, l1, l2, grad",
    "Applies proximal Adagrad: an Adagrad step, then shrinkage by the l1 and l2 penalties.",
)
resource_apply_adagrad_da = _update(
    "ResourceApplyAdagradDA",
    "var: resource, gradient_accumulator: resource, gradient_squared_accumulator: resource, "
    "grad, lr, l1, l2, global_step: int64",
    "Applies Adagrad with dual averaging, from the sums of all gradients and of their squares.",
)
resource_apply_add_sign = _update(
    "ResourceApplyAddSign",
    "var: resource, m: resource, lr, alpha, sign_decay, beta, grad",
    "Applies AddSign: var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad.",
)
resource_apply_power_sign = _update(
    "ResourceApplyPowerSign",
    "var: resource, m: resource, lr, logbase, sign_decay, beta, grad",
    "Applies PowerSign: var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad.",
)

resource_sparse_apply_momentum = _row_update(
    "ResourceSparseApplyMomentum",
    "var: resource, accum: resource, lr, grad, indices: Tindices, momentum",
    "Applies ResourceApplyMomentum to some rows.",
    use_nesterov=False,
)
resource_sparse_apply_keras_momentum = _row_update(
    "ResourceSparseApplyKerasMomentum",
    "var: resource, accum: resource, lr, grad, indices: Tindices, momentum",
    "Applies ResourceApplyKerasMomentum to some rows.",
    use_nesterov=False,
)
resource_sparse_apply_adagrad = _row_update(
    "ResourceSparseApplyAdagrad",
    "var: resource, accum: resource, lr, grad, indices: Tindices",
    "Applies ResourceApplyAdagrad to some rows.",
    update_slots=True,
)
resource_sparse_apply_adagrad_v2 = _row_update(
    "ResourceSparseApplyAdagradV2",
    "var: resource, accum: resource, lr, epsilon, grad, indices: Tindices",
    "Applies ResourceApplyAdagradV2 to some rows.",
    update_slots=True,
)
resource_sparse_apply_adadelta = _row_update(
    "ResourceSparseApplyAdadelta",
    "var: resource, accum: resource, accum_update: resource, lr, rho, epsilon, grad, indices: Tindices",
    "Applies ResourceApplyAdadelta to some rows.",
)
resource_sparse_apply_rms_prop = _row_update(
    "ResourceSparseApplyRMSProp",
    "var: resource, ms: resource, mom: resource, lr, rho, momentum, epsilon, grad, indices: Tindices",
    "Applies ResourceApplyRMSProp to some rows.",
)
resource_sparse_apply_centered_rms_prop = _row_update(
    "ResourceSparseApplyCenteredRMSProp",
    "var: resource, mg: resource, ms: resource, mom: resource, lr, rho, momentum, epsilon, grad, indices: Tindices",
    "Applies ResourceApplyCenteredRMSProp to some rows.",
)
resource_sparse_apply_ftrl = _row_update(
    "ResourceSparseApplyFtrl",
    "var: resource, accum: resource, linear: resource, grad, indices: Tindices, lr, l1, l2, lr_power",
    "Applies ResourceApplyFtrl to some rows.",
    multiply_linear_by_lr=False,
)
resource_sparse_apply_ftrl_v2 = _row_update(
    "ResourceSparseApplyFtrlV2",
    "var: resource, accum: resource, linear: resource, grad, indices: Tindices, lr, l1, l2, l2_shrinkage, lr_power",
    "Applies ResourceApplyFtrlV2 to some rows.",
    multiply_linear_by_lr=False,
)
resource_sparse_apply_proximal_gradient_descent = _row_update(
    "ResourceSparseApplyProximalGradientDescent",
    "var: resource, alpha, l1, l2, grad, indices: Tindices",
    "Applies ResourceApplyProximalGradientDescent to some rows.",
)
resource_sparse_apply_proximal_adagrad = _row_update(
    "ResourceSparseApplyProximalAdagrad",
    "var: resource, accum: resource, lr, l1, l2, grad, indices: Tindices",
    "Applies ResourceApplyProximalAdagrad to some rows.",
)
resource_sparse_apply_adagrad_da = _row_update(
    "ResourceSparseApplyAdagradDA",
    "var: resource, gradient_accumulator: resource, gradient_squared_accumulator: resource, "
    "grad, indices: Tindices, lr, l1, l2, global_step: int64",
    "Applies ResourceApplyAdagradDA to some rows.",
)

# A step's updates with equal hyperparameters are merged into these: one call for all variables of an optimizer.
apply_gradient_descent_group = _update(
    "_ApplyGradientDescentGroup",
    "var: N*resource, alpha, delta: N*T",
    "Applies ResourceApplyGradientDescent to several variables.",
)
apply_momentum_group = _update(
    "_ApplyMomentumGroup",
    "var: N*resource, accum: N*resource, lr, grad: N*T, momentum",
    "Applies ResourceApplyMomentum to several variables.",
    use_nesterov=False,
)
apply_adam_group = _update(
    "_ApplyAdamGroup",
    "var: N*resource, m: N*resource, v: N*resource, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad: N*T",
    "Applies ResourceApplyAdam to several variables.",
    use_nesterov=False,
)
