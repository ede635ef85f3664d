"""Updates of variables by gradients: one op for each rule of optimization, for whole variables and for some rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src import dtypes
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.ops.shape_functions import require, with_rank
from thalweg._src.ops.state import handle_shape
from thalweg._src.shapes import Shape, compatible, show

_TYPES = dtypes.NUMERIC | dtypes.QUANTIZED
_GRADIENTS = ("grad", "delta")


def _arguments(c: Inference) -> list[tuple[str, int]]:
    """Returns the name and the position of every input, lists unrolled."""
    count = c.attrs.get("N", 1)
    names = [arg.name for arg in c.definition.inputs for _ in range(count if arg.is_list else 1)]
    return [(name, index) for index, name in enumerate(names)]


def _whole(c: Inference) -> Sequence[Shape]:
    """Variables and gradients of one shape, everything else scalars."""
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
    """Variables of one shape, a gradient with a row for each index, everything else scalars."""
    positions = dict(_arguments(c))
    (count,) = with_rank(c, positions["indices"], 1) or (None,)
    grad = c.shapes[positions["grad"]]
    for name, index in positions.items():
        if c.dtypes[index] is dtypes.resource:
            held = handle_shape(c, index)
            require(held is None or len(held) > 0, f"{name} is a scalar", expected=f"{name} of rank 1 at least")
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
    """Registers the update of whole variables; arguments that name no type are of type T."""
    parts = [part if ":" in part else f"{part}: T" for part in arguments.split(", ")]
    return op(
        name,
        f"{', '.join(parts)} ->",
        T=_TYPES,
        use_locking=False,
        **attrs,
        infer=_whole,
        stateful=True,
        writes=True,
        traceable=True,
        capturable=True,
        differentiable=False,
        doc=doc,
    )


def _row_update(name: str, arguments: str, doc: str, **attrs: Any) -> OpDef:
    """Registers the update of the rows that `indices` names."""
    parts = [part if ":" in part else f"{part}: T" for part in arguments.split(", ")]
    return op(
        name,
        f"{', '.join(parts)} ->",
        T=_TYPES,
        Tindices=dtypes.INDEX,
        use_locking=False,
        **attrs,
        infer=_rows,
        stateful=True,
        writes=True,
        differentiable=False,
        doc=doc,
    )


resource_apply_gradient_descent = _update(
    "ResourceApplyGradientDescent", "var: resource, alpha, delta", "var -= alpha * delta."
)
resource_apply_momentum = _update(
    "ResourceApplyMomentum",
    "var: resource, accum: resource, lr, grad, momentum",
    "accum = momentum * accum + grad; var -= lr * accum.",
    use_nesterov=False,
)
resource_apply_keras_momentum = _update(
    "ResourceApplyKerasMomentum",
    "var: resource, accum: resource, lr, grad, momentum",
    "accum = momentum * accum - lr * grad; var += accum.",
    use_nesterov=False,
)
resource_apply_adagrad = _update(
    "ResourceApplyAdagrad",
    "var: resource, accum: resource, lr, grad",
    "accum += grad ** 2; var -= lr * grad / sqrt(accum).",
    update_slots=True,
)
resource_apply_adagrad_v2 = _update(
    "ResourceApplyAdagradV2",
    "var: resource, accum: resource, lr, epsilon, grad",
    "accum += grad ** 2; var -= lr * grad / (sqrt(accum) + epsilon).",
    update_slots=True,
)
resource_apply_adadelta = _update(
    "ResourceApplyAdadelta",
    "var: resource, accum: resource, accum_update: resource, lr, rho, epsilon, grad",
    "A step as large as recent steps, against the recent size of the gradient.",
)
resource_apply_rms_prop = _update(
    "ResourceApplyRMSProp",
    "var: resource, ms: resource, mom: resource, lr, rho, momentum, epsilon, grad",
    "A momentum step of the gradient over the root of its recent mean square.",
)
resource_apply_centered_rms_prop = _update(
    "ResourceApplyCenteredRMSProp",
    "var: resource, mg: resource, ms: resource, mom: resource, lr, rho, momentum, epsilon, grad",
    "A momentum step of the gradient over its recent standard deviation.",
)
resource_apply_adam = _update(
    "ResourceApplyAdam",
    "var: resource, m: resource, v: resource, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad",
    "var -= lr_t * m / (sqrt(v) + epsilon), with m and v the recent mean and mean square of the gradient.",
    use_nesterov=False,
)
resource_apply_adam_with_amsgrad = _update(
    "ResourceApplyAdamWithAmsgrad",
    "var: resource, m: resource, v: resource, vhat: resource, "
    "beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad",
    "Adam with the largest mean square so far in place of the recent one.",
)
resource_apply_ada_max = _update(
    "ResourceApplyAdaMax",
    "var: resource, m: resource, v: resource, beta1_power, lr, beta1, beta2, epsilon, grad",
    "Adam with the largest recent gradient in place of the mean square.",
)
resource_apply_ftrl = _update(
    "ResourceApplyFtrl",
    "var: resource, accum: resource, linear: resource, grad, lr, l1, l2, lr_power",
    "Follow the regularized leader, proximally.",
    multiply_linear_by_lr=False,
)
resource_apply_ftrl_v2 = _update(
    "ResourceApplyFtrlV2",
    "var: resource, accum: resource, linear: resource, grad, lr, l1, l2, l2_shrinkage, lr_power",
    "Follow the regularized leader, with a further penalty on the size of the variable.",
    multiply_linear_by_lr=False,
)
resource_apply_proximal_gradient_descent = _update(
    "ResourceApplyProximalGradientDescent",
    "var: resource, alpha, l1, l2, delta",
    "A gradient step, then a shrinking step for the l1 and l2 penalties.",
)
resource_apply_proximal_adagrad = _update(
    "ResourceApplyProximalAdagrad",
    "var: resource, accum: resource, lr, l1, l2, grad",
    "An Adagrad step, then a shrinking step for the l1 and l2 penalties.",
)
resource_apply_adagrad_da = _update(
    "ResourceApplyAdagradDA",
    "var: resource, gradient_accumulator: resource, gradient_squared_accumulator: resource, "
    "grad, lr, l1, l2, global_step: int64",
    "Dual averaging: the variable follows from the sums of all gradients and of their squares.",
)
resource_apply_add_sign = _update(
    "ResourceApplyAddSign",
    "var: resource, m: resource, lr, alpha, sign_decay, beta, grad",
    "var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad.",
)
resource_apply_power_sign = _update(
    "ResourceApplyPowerSign",
    "var: resource, m: resource, lr, logbase, sign_decay, beta, grad",
    "var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad.",
)

resource_sparse_apply_momentum = _row_update(
    "ResourceSparseApplyMomentum",
    "var: resource, accum: resource, lr, grad, indices: Tindices, momentum",
    "ResourceApplyMomentum on some rows.",
    use_nesterov=False,
)
resource_sparse_apply_keras_momentum = _row_update(
    "ResourceSparseApplyKerasMomentum",
    "var: resource, accum: resource, lr, grad, indices: Tindices, momentum",
    "ResourceApplyKerasMomentum on some rows.",
    use_nesterov=False,
)
resource_sparse_apply_adagrad = _row_update(
    "ResourceSparseApplyAdagrad",
    "var: resource, accum: resource, lr, grad, indices: Tindices",
    "ResourceApplyAdagrad on some rows.",
    update_slots=True,
)
resource_sparse_apply_adagrad_v2 = _row_update(
    "ResourceSparseApplyAdagradV2",
    "var: resource, accum: resource, lr, epsilon, grad, indices: Tindices",
    "ResourceApplyAdagradV2 on some rows.",
    update_slots=True,
)
resource_sparse_apply_adadelta = _row_update(
    "ResourceSparseApplyAdadelta",
    "var: resource, accum: resource, accum_update: resource, lr, rho, epsilon, grad, indices: Tindices",
    "ResourceApplyAdadelta on some rows.",
)
resource_sparse_apply_rms_prop = _row_update(
    "ResourceSparseApplyRMSProp",
    "var: resource, ms: resource, mom: resource, lr, rho, momentum, epsilon, grad, indices: Tindices",
    "ResourceApplyRMSProp on some rows.",
)
resource_sparse_apply_centered_rms_prop = _row_update(
    "ResourceSparseApplyCenteredRMSProp",
    "var: resource, mg: resource, ms: resource, mom: resource, lr, rho, momentum, epsilon, grad, indices: Tindices",
    "ResourceApplyCenteredRMSProp on some rows.",
)
resource_sparse_apply_ftrl = _row_update(
    "ResourceSparseApplyFtrl",
    "var: resource, accum: resource, linear: resource, grad, indices: Tindices, lr, l1, l2, lr_power",
    "ResourceApplyFtrl on some rows.",
    multiply_linear_by_lr=False,
)
resource_sparse_apply_ftrl_v2 = _row_update(
    "ResourceSparseApplyFtrlV2",
    "var: resource, accum: resource, linear: resource, grad, indices: Tindices, lr, l1, l2, l2_shrinkage, lr_power",
    "ResourceApplyFtrlV2 on some rows.",
    multiply_linear_by_lr=False,
)
resource_sparse_apply_proximal_gradient_descent = _row_update(
    "ResourceSparseApplyProximalGradientDescent",
    "var: resource, alpha, l1, l2, grad, indices: Tindices",
    "ResourceApplyProximalGradientDescent on some rows.",
)
resource_sparse_apply_proximal_adagrad = _row_update(
    "ResourceSparseApplyProximalAdagrad",
    "var: resource, accum: resource, lr, l1, l2, grad, indices: Tindices",
    "ResourceApplyProximalAdagrad on some rows.",
)
resource_sparse_apply_adagrad_da = _row_update(
    "ResourceSparseApplyAdagradDA",
    "var: resource, gradient_accumulator: resource, gradient_squared_accumulator: resource, "
    "grad, indices: Tindices, lr, l1, l2, global_step: int64",
    "ResourceApplyAdagradDA on some rows.",
)

# What a step's updates with equal hyperparameters are merged into: one call for all variables of an optimizer.
apply_gradient_descent_group = _update(
    "_ApplyGradientDescentGroup",
    "var: N*resource, alpha, delta: N*T",
    "ResourceApplyGradientDescent of several variables.",
)
apply_momentum_group = _update(
    "_ApplyMomentumGroup",
    "var: N*resource, accum: N*resource, lr, grad: N*T, momentum",
    "ResourceApplyMomentum of several variables.",
    use_nesterov=False,
)
apply_adam_group = _update(
    "_ApplyAdamGroup",
    "var: N*resource, m: N*resource, v: N*resource, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad: N*T",
    "ResourceApplyAdam of several variables.",
    use_nesterov=False,
)
