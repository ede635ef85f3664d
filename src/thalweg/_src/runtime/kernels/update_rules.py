"""Optimizer update rules: how a gradient changes a variable and its slots.

Each rule changes its buffers in place. Hyperparameters are Python numbers or 0-d tensors: numbers where they are known
at compile time or are on the host, tensors on a device, so that no step synchronizes for one.
"""

from __future__ import annotations

import math
from typing import Any

import torch

Number = Any  # a Python number or a 0-d tensor


def momentum(
    var: torch.Tensor, accum: torch.Tensor, lr: Number, grad: torch.Tensor, momentum: Number, *, use_nesterov: bool
) -> None:
    accum.mul_(momentum).add_(grad)
    var.sub_((accum * momentum + grad if use_nesterov else accum) * lr)


def keras_momentum(
    var: torch.Tensor, accum: torch.Tensor, lr: Number, grad: torch.Tensor, momentum: Number, *, use_nesterov: bool
) -> None:
    step = grad * lr
    accum.mul_(momentum).sub_(step)
    var.add_(accum * momentum - step if use_nesterov else accum)


def adagrad(var: torch.Tensor, accum: torch.Tensor, lr: Number, grad: torch.Tensor, *, update_slots: bool) -> None:
    if update_slots:
        accum.addcmul_(grad, grad)
    var.sub_(accum.rsqrt().mul_(grad).mul_(lr))


def adagrad_v2(
    var: torch.Tensor, accum: torch.Tensor, lr: Number, epsilon: Number, grad: torch.Tensor, *, update_slots: bool
) -> None:
    if update_slots:
        accum.addcmul_(grad, grad)
    var.sub_((grad * lr).div_(accum.sqrt().add_(epsilon)))


def adadelta(
    var: torch.Tensor,
    accum: torch.Tensor,
    accum_update: torch.Tensor,
    lr: Number,
    rho: Number,
    epsilon: Number,
    grad: torch.Tensor,
) -> None:
    accum.mul_(rho).add_((grad * grad).mul_(1 - rho))
    update = (accum_update + epsilon).sqrt_().mul_((accum + epsilon).rsqrt_()).mul_(grad)
    var.sub_(update * lr)
    accum_update.mul_(rho).add_(update.mul_(update).mul_(1 - rho))


def rms_prop(
    var: torch.Tensor,
    ms: torch.Tensor,
    mom: torch.Tensor,
    lr: Number,
    rho: Number,
    momentum: Number,
    epsilon: Number,
    grad: torch.Tensor,
) -> None:
    ms.add_((grad * grad).sub_(ms).mul_(1 - rho))
    mom.mul_(momentum).add_((ms + epsilon).rsqrt_().mul_(grad).mul_(lr))
    var.sub_(mom)


def centered_rms_prop(
    var: torch.Tensor,
    mg: torch.Tensor,
    ms: torch.Tensor,
    mom: torch.Tensor,
    lr: Number,
    rho: Number,
    momentum: Number,
    epsilon: Number,
    grad: torch.Tensor,
) -> None:
    ms.add_((grad * grad).sub_(ms).mul_(1 - rho))
    mg.add_((grad - mg).mul_(1 - rho))
    mom.mul_(momentum).add_((ms - mg * mg).add_(epsilon).rsqrt_().mul_(grad).mul_(lr))
    var.sub_(mom)


def corrected_rate(lr: Number, beta1_power: Number, beta2_power: Number) -> Number:
    """Returns Adam's bias-corrected learning rate."""
    if isinstance(beta2_power, torch.Tensor):
        return lr * (1 - beta2_power).sqrt() / (1 - beta1_power)
    if isinstance(beta2_power, complex):
        return corrected_rate(lr, beta1_power, torch.tensor(beta2_power, dtype=torch.complex128)).item()
    if beta1_power != 1 and beta2_power <= 1:
        return lr * math.sqrt(1 - beta2_power) / (1 - beta1_power)
    return corrected_rate(lr, beta1_power, torch.tensor(beta2_power)).item()


def _moments(m: torch.Tensor, v: torch.Tensor, beta1: Number, beta2: Number, grad: torch.Tensor) -> None:
    m.add_((grad - m).mul_(1 - beta1))
    v.add_((grad * grad).sub_(v).mul_(1 - beta2))


def adam(
    var: torch.Tensor,
    m: torch.Tensor,
    v: torch.Tensor,
    rate: Number,
    beta1: Number,
    beta2: Number,
    epsilon: Number,
    grad: torch.Tensor,
    use_nesterov: bool,
) -> None:
    _moments(m, v, beta1, beta2, grad)
    mean = m * beta1 + grad * (1 - beta1) if use_nesterov else m
    var.sub_((mean * rate).div_(v.sqrt().add_(epsilon)))


def adam_with_amsgrad(
    var: torch.Tensor,
    m: torch.Tensor,
    v: torch.Tensor,
    vhat: torch.Tensor,
    beta1_power: Number,
    beta2_power: Number,
    lr: Number,
    beta1: Number,
    beta2: Number,
    epsilon: Number,
    grad: torch.Tensor,
) -> None:
    _moments(m, v, beta1, beta2, grad)
    torch.maximum(vhat, v, out=vhat)
    var.sub_((m * corrected_rate(lr, beta1_power, beta2_power)).div_(vhat.sqrt().add_(epsilon)))


def ada_max(
    var: torch.Tensor,
    m: torch.Tensor,
    v: torch.Tensor,
    beta1_power: Number,
    lr: Number,
    beta1: Number,
    beta2: Number,
    epsilon: Number,
    grad: torch.Tensor,
) -> None:
    m.add_((grad - m).mul_(1 - beta1))
    torch.maximum(v.mul_(beta2), grad.abs(), out=v)
    var.sub_((m * lr).div_(v + epsilon).div_(1 - beta1_power))


def ftrl(
    var: torch.Tensor,
    accum: torch.Tensor,
    linear: torch.Tensor,
    grad: torch.Tensor,
    lr: Number,
    l1: Number,
    l2: Number,
    lr_power: Number,
    *,
    multiply_linear_by_lr: bool,
) -> None:
    ftrl_v2(var, accum, linear, grad, lr, l1, l2, 0.0, lr_power, multiply_linear_by_lr=multiply_linear_by_lr)


def ftrl_v2(
    var: torch.Tensor,
    accum: torch.Tensor,
    linear: torch.Tensor,
    grad: torch.Tensor,
    lr: Number,
    l1: Number,
    l2: Number,
    l2_shrinkage: Number,
    lr_power: Number,
    *,
    multiply_linear_by_lr: bool,
) -> None:
    def power(x: torch.Tensor) -> torch.Tensor:
        return x.sqrt() if not isinstance(lr_power, torch.Tensor) and lr_power == -0.5 else x.pow(-lr_power)

    shrunk = grad + var * (2 * l2_shrinkage)
    before = power(accum)
    accum.addcmul_(grad, grad)
    after = power(accum)
    growth = (after - before).mul_(var)
    if multiply_linear_by_lr:
        linear.add_(shrunk * lr).sub_(growth)
        bound, curvature = l1 * lr, after.add_(2 * l2 * lr)
    else:
        linear.add_(shrunk).sub_(growth.div_(lr))
        bound, curvature = l1, after.div_(lr).add_(2 * l2)
    leader = (linear.sign() * bound).sub_(linear).div_(curvature)
    var.copy_(leader.masked_fill_(linear.abs() <= bound, 0))


def _shrunk(value: torch.Tensor, rate: Number, l1: Number, l2: Number) -> torch.Tensor:
    """Returns a value shrunk toward zero: by l1 (soft thresholding), then proportionally by l2."""
    if isinstance(l1, torch.Tensor) or l1 > 0:
        value = value.sign().mul_((value.abs() - rate * l1).clamp_(min=0))
    return value.div_(1 + rate * l2)


def proximal_gradient_descent(var: torch.Tensor, alpha: Number, l1: Number, l2: Number, grad: torch.Tensor) -> None:
    var.copy_(_shrunk(var - grad * alpha, alpha, l1, l2))


def proximal_adagrad(
    var: torch.Tensor, accum: torch.Tensor, lr: Number, l1: Number, l2: Number, grad: torch.Tensor
) -> None:
    accum.addcmul_(grad, grad)
    rate = accum.rsqrt().mul_(lr)
    var.copy_(_shrunk(var - grad * rate, rate, l1, l2))


def adagrad_da(
    var: torch.Tensor,
    gradients: torch.Tensor,
    squares: torch.Tensor,
    grad: torch.Tensor,
    lr: Number,
    l1: Number,
    l2: Number,
    global_step: Number,
) -> None:
    gradients.add_(grad)
    squares.addcmul_(grad, grad)
    total = gradients
    if isinstance(l1, torch.Tensor) or l1 > 0:
        total = gradients.sign().mul_((gradients.abs() - l1 * global_step).clamp_(min=0))
    if isinstance(l1, torch.Tensor):
        total = torch.where(l1 > 0, total, gradients)
    var.copy_((total * lr).neg_().div_(squares.sqrt().add_(l2 * lr * global_step)))


def add_sign(
    var: torch.Tensor, m: torch.Tensor, lr: Number, alpha: Number, sign_decay: Number, beta: Number, grad: torch.Tensor
) -> None:
    m.mul_(beta).add_(grad * (1 - beta))
    var.sub_((grad.sign() * m.sign()).mul_(sign_decay).add_(alpha).mul_(lr).mul_(grad))


def power_sign(
    var: torch.Tensor,
    m: torch.Tensor,
    lr: Number,
    logbase: Number,
    sign_decay: Number,
    beta: Number,
    grad: torch.Tensor,
) -> None:
    m.mul_(beta).add_(grad * (1 - beta))
    var.sub_((grad.sign() * m.sign()).mul_(sign_decay).mul_(logbase).exp_().mul_(lr).mul_(grad))
