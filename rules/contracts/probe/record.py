"""Which ops a program reaches at the dispatcher, with what arguments: TorchDispatchMode on any torch from 1.13."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import op_list
import replay


class Recorder(TorchDispatchMode):
    """Keeps, of each op and operand names, the first call of each rank, and few of them."""

    MAX_RANKS = 3

    def __init__(self, seen):
        super().__init__()
        self.seen = seen  # (op, operands) -> set of ranks; shared between recorders
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        call = self._new_call(func, args, kwargs)
        if call is not None:
            self.calls.append(call.kept())
        return func(*args, **kwargs)

    def _new_call(self, func, args, kwargs):
        name = func._schema.name
        if not name.startswith("aten::") or not op_list.is_measured(name[6:]):
            return None
        return self.if_new(replay.call_of(func, args, kwargs))

    def if_new(self, call):
        if call is None:
            return None
        ranks = self.seen.setdefault((call.op_name, call.names), set())
        if call.ranks in ranks or len(ranks) >= self.MAX_RANKS:
            return None
        ranks.add(call.ranks)
        return call


def add_composite(recorder, name, args, kwargs):
    """The call of aten::name itself: an op that is made of others never reaches a dispatch mode."""
    packet = getattr(torch.ops.aten, name, None)
    if packet is None or not op_list.is_measured(name):
        return False
    for overload in packet.overloads():
        op = getattr(packet, overload)
        try:
            with torch.no_grad():
                op(*replay.copy_of(args), **kwargs)
        except Exception:  # noqa: BLE001 - not this overload
            continue
        call = recorder.if_new(replay.call_of(op, args, kwargs))
        if call is not None:
            recorder.calls.append(call.kept())
        return True
    return False


def record_backward(recorder, outputs, inputs):
    outputs = [t for t in replay.tensors_in(outputs) if t.requires_grad and t.is_floating_point()]
    inputs = [t for t in replay.tensors_in(inputs) if t.requires_grad]
    if not outputs or not inputs:
        return
    with recorder:
        torch.autograd.grad(outputs, inputs, [torch.ones_like(t) for t in outputs],
                            allow_unused=True)
