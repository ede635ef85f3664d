"""Kernels of CTC decoders (greedy and beam search), batched over all examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base.errors import FailedPreconditionError, invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.ctc import require_inputs, require_time_steps
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.resources.devices import Device

_NOTHING = -1  # instead of a label: a blank, or a repetition of the previous label
_FACTOR = 6364136223846793005  # odd, so that the hashes of different prefixes stay distinct


def _as_sparse(labels: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns indices, values and shape of a sparse tensor of the labels kept in each row, without gaps."""
    rows, columns = torch.nonzero(mask, as_tuple=True)
    positions = mask.cumsum(1)
    width = int(positions[:, -1].max()) if mask.numel() else 0
    indices = torch.stack([rows, positions[rows, columns] - 1], 1)
    return indices, labels[rows, columns], torch.tensor([len(mask), width], dtype=torch.int64)


@kernel("CTCGreedyDecoder")
def bind_greedy(node: Node, device: Device) -> Callable[..., Any]:
    merge, blank_index = node.attrs["merge_repeated"], node.attrs["blank_index"]

    def decode(inputs: torch.Tensor, lengths: torch.Tensor) -> Any:
        require_inputs(inputs, lengths, "sequence_length")
        time, _, classes = inputs.shape
        require_time_steps(lengths, time, FailedPreconditionError)
        inside = -classes <= blank_index < classes
        require(inside, f"blank_index is {blank_index}", expected=f"a class in [{-classes}, {classes})")
        best, labels = inputs.max(2)
        moments = torch.arange(time, device=inputs.device)[:, None] < lengths
        mask = moments & (labels != blank_index % classes)
        if merge:
            mask[1:] &= labels[1:] != labels[:-1]
        score = -torch.where(moments, best, 0).sum(0)
        return *_as_sparse(labels.t(), mask.t()), score[:, None]

    return decode


class Beam:
    """The beam of each example: log probabilities of its prefixes that end with a blank, or with their last label.

    Prefixes are identified by hashes of their labels, since one that was dropped may reappear.
    """

    def __init__(self, batch: int, like: torch.Tensor) -> None:
        self.blank = like.new_zeros((batch, 1))
        self.label = like.new_full((batch, 1), -torch.inf)
        self.total = like.new_zeros((batch, 1))
        self.last = torch.full((batch, 1), _NOTHING, dtype=torch.int64, device=like.device)
        self.number = torch.ones_like(self.last)
        self.parent = torch.zeros_like(self.last)

    def step(self, scores: torch.Tensor, active: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Advances one time step, given log probabilities with the blank last; returns each prefix's origin and label.

        Examples that are no longer active stay unchanged.
        """
        batch, size = self.total.shape
        classes = scores.shape[1] - 1
        # A prefix may be reached from itself, or by extending its parent by one label, if the parent is in the beam.
        is_child = (self.parent[:, :, None] == self.number[:, None, :]) & (self.total > -torch.inf)[:, None, :]
        has_parent, parent = is_child.any(2), is_child.int().argmax(2)
        repeated = self.last == self.last.gather(1, parent)
        grown = torch.where(repeated, self.blank.gather(1, parent), self.total.gather(1, parent))
        grown = torch.where(has_parent, grown, -torch.inf)
        score = torch.cat([scores[:, :classes], scores.new_zeros((batch, 1))], 1).gather(1, self.last % (classes + 1))
        label = torch.where(self.last < 0, -torch.inf, torch.logaddexp(self.label, grown) + score)
        blank = self.total + scores[:, classes:]
        total = torch.logaddexp(blank, label)
        # Every prefix may also grow by a label, unless the longer prefix is in the beam already.
        same = torch.arange(classes, device=scores.device) == self.last[:, :, None]
        children = torch.where(same, self.blank[:, :, None], self.total[:, :, None]) + scores[:, None, :classes]
        in_beam = torch.zeros((batch, size, classes + 1), dtype=torch.bool, device=scores.device).reshape(batch, -1)
        place = torch.where(has_parent, parent * (classes + 1) + self.last % (classes + 1), size * (classes + 1) - 1)
        in_beam.scatter_(1, place, True)
        children = children.masked_fill(in_beam.reshape(batch, size, -1)[:, :, :classes], -torch.inf)
        children = torch.where(active[:, :, None], children, -torch.inf)
        label, blank = torch.where(active, label, self.label), torch.where(active, blank, self.blank)
        total = torch.where(active, total, self.total)
        threatened = has_parent & (parent < torch.arange(size, device=scores.device))
        chosen = _best(total, children, threatened, parent, self.last, width)
        return self._follow(label, blank, torch.cat([total, children.flatten(1)], 1), chosen)

    def _follow(
        self, label: torch.Tensor, blank: torch.Tensor, candidates: torch.Tensor, chosen: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keeps the selected candidates: prefixes that stay, then those extended by one label."""
        size = label.shape[1]
        classes = max(candidates.shape[1] // size - 1, 1)
        stays = chosen < size
        source = torch.where(stays, chosen, (chosen - size).clamp(min=0) // classes)
        added = torch.where(stays, _NOTHING, (chosen - size) % classes)
        self.total = candidates.gather(1, chosen)
        self.blank = torch.where(stays, blank.gather(1, source), -torch.inf)
        self.label = torch.where(stays, label.gather(1, source), self.total)
        number, parent = self.number.gather(1, source), self.parent.gather(1, source)
        is_prefix = self.total != -torch.inf  # otherwise an empty slot
        self.last = torch.where(is_prefix, torch.where(stays, self.last.gather(1, source), added), _NOTHING)
        self.parent = torch.where(is_prefix, torch.where(stays, parent, number), 0)
        self.number = torch.where(is_prefix, torch.where(stays, number, number * _FACTOR + added + 1), 0)
        return source, added


def _best(
    total: torch.Tensor,
    children: torch.Tensor,
    threatened: torch.Tensor,
    parent: torch.Tensor,
    last: torch.Tensor,
    width: int,
) -> torch.Tensor:
    """Returns the best candidates as TensorFlow finds them, processing one prefix after another.

    There a prefix that is evicted from the beam before its parent is processed is dropped by the parent, and has no
    children. Whether that happens depends only on the prefixes before it, so a fixed-point iteration finds them all.
    """
    size, classes = children.shape[1:]
    count = min(width, size * (1 + classes))
    best, chosen = torch.cat([total, children.flatten(1)], 1).topk(count)
    source = torch.where(chosen < size, size, (chosen - size) // max(classes, 1))
    grows = torch.zeros((len(total), size + 1), dtype=torch.bool, device=total.device).scatter_(1, source, True)
    threatened = threatened & (total < best[:, -1:]) if count == width else torch.zeros_like(threatened)
    if not bool((threatened & grows[:, :size]).any()):
        return chosen
    order = children.sort(2)[0]
    above = classes - torch.searchsorted(order, total[:, None, :].expand(-1, size, -1).contiguous(), right=True)
    before = torch.arange(size, device=total.device)[:, None] < parent[:, None, :]
    siblings = children.gather(1, parent[:, :, None].expand(-1, -1, classes)) > total[:, :, None]
    siblings &= torch.arange(classes, device=total.device) < last[:, :, None]
    others = (total[:, None, :] > total[:, :, None]).sum(2) + siblings.sum(2)
    lost = torch.zeros_like(threatened)
    while True:
        dropped = others + torch.where(before & ~lost[:, :, None], above, 0).sum(1) >= width
        dropped &= threatened & ~lost.gather(1, parent)
        if torch.equal(dropped, lost):
            break
        lost = dropped
    return torch.cat([total, children.masked_fill(lost[:, :, None], -torch.inf).flatten(1)], 1).topk(count)[1]


@kernel("CTCBeamSearchDecoder")
def bind_beam_search(node: Node, device: Device) -> Callable[..., Any]:
    width, paths, merge = node.attrs["beam_width"], node.attrs["top_paths"], node.attrs["merge_repeated"]

    def decode(inputs: torch.Tensor, lengths: torch.Tensor) -> Any:
        require_inputs(inputs, lengths, "sequence_length")
        require_time_steps(lengths, inputs.shape[0], FailedPreconditionError)
        require(paths <= width, f"top_paths is {paths}", expected=f"at most the beam width {width}")
        steps = max(int(lengths.max()), 0)
        moments = lengths.to(inputs.device)[:, None]
        beam = Beam(inputs.shape[1], inputs)
        scores = torch.log_softmax(inputs[:steps], 2)
        history = [beam.step(scores[t], moments > t, width) for t in range(steps)]
        if beam.total.shape[1] < paths or bool((beam.total[:, :paths] == -torch.inf).any()):
            raise invalid(f"the beam search found fewer than top_paths={paths} sequences")
        sequences = _sequences(history, inputs.shape[1], paths, merge, inputs.device)
        components = zip(*(_as_sparse(labels, labels != _NOTHING) for labels in sequences))
        return *(tensor for kind in components for tensor in kind), beam.total[:, :paths].clone()

    return decode


def _sequences(
    history: list[tuple[torch.Tensor, torch.Tensor]], batch: int, paths: int, merge: bool, device: torch.device
) -> list[torch.Tensor]:
    """Returns the labels of the best prefixes, one row per example, by backtracking from the last time step."""
    slots = torch.arange(paths, device=device).expand(batch, paths)
    following = torch.full_like(slots, _NOTHING)
    columns = []
    for source, added in reversed(history):
        label = added.gather(1, slots)
        columns.append(label.masked_fill(label == following, _NOTHING) if merge else label)
        following = torch.where(label == _NOTHING, following, label)
        slots = source.gather(1, slots)
    columns.reverse()
    labels = torch.stack(columns, 2) if columns else slots.new_empty((batch, paths, 0))
    return list(labels.unbind(1))
