"""The op families of a training run, each with every mix of two dtypes: one case a line, for a program that runs them.

family_cases.py FILE writes that program. It runs each case, forward and backward, and prints a line of JSON for it: whether
it went through, or what it raised. The same file runs on every LibTorch from 1.13 on.
"""
import itertools
import sys

HEAD = '''\
import json
import torch
import torch.nn.functional as F
torch.manual_seed(0)
torch.set_num_threads(1)
f, h, b, d = torch.float32, torch.float16, torch.bfloat16, torch.float64
def t(dt, *s): return (torch.rand(s) * 0.5 + 0.25).to(dt)
def g(dt, *s): return t(dt, *s).requires_grad_()
def ix(*v): return torch.tensor(v)
def put(x, k, v): x[k] = v; return x
def backward(y):
    if isinstance(y, torch.Tensor) and y.requires_grad: y.sum().backward()
CASES = [
'''
TAIL = ''']
for number, case in enumerate(CASES):
    try:
        backward(case())
        said = None
    except (RuntimeError, NotImplementedError, TypeError, ValueError, AttributeError) as error:
        said = {"type": type(error).__name__, "text": str(error).split("\\n")[0][:200]}
    print(json.dumps({"line": %d + number, "raised": said}), flush=True)
''' % (HEAD.count("\n") + 1)

# $1, $2, $3 are the dtypes of a case.
FAMILIES = """
F.linear(g($1, 3, 4), g($2, 5, 4), g($3, 5))
F.linear(g($1, 3, 4), g($2, 5, 4))
g($1, 3, 4) @ g($2, 4, 5)
torch.bmm(g($1, 2, 3, 4), g($2, 2, 4, 5))
torch.baddbmm(g($1, 2, 3, 5), g($2, 2, 3, 4), g($3, 2, 4, 5))
torch.addmm(g($1, 3, 5), g($2, 3, 4), g($3, 4, 5))
torch.mv(g($1, 3, 4), g($2, 4))
torch.dot(g($1, 3), g($2, 3))
torch.einsum("bij,bjk->bik", g($1, 2, 3, 4), g($2, 2, 4, 5))
F.conv1d(g($1, 1, 3, 8), g($2, 4, 3, 3), g($3, 4))
F.conv2d(g($1, 1, 3, 8, 8), g($2, 4, 3, 3, 3), g($3, 4))
F.conv2d(g($1, 1, 3, 8, 8), g($2, 4, 3, 3, 3))
F.conv3d(g($1, 1, 3, 4, 4, 4), g($2, 4, 3, 3, 3, 3), g($3, 4))
F.conv_transpose2d(g($1, 1, 3, 4, 4), g($2, 3, 4, 3, 3), g($3, 4))
F.layer_norm(g($1, 2, 8), (8,), g($2, 8), g($3, 8))
F.layer_norm(g($1, 2, 8), (8,))
F.group_norm(g($1, 1, 4, 8, 8), 2, g($2, 4), g($3, 4))
F.batch_norm(g($1, 4, 4, 3, 3), t($2, 4), t($2, 4), g($3, 4), g($3, 4), training=True)
F.instance_norm(g($1, 2, 4, 3, 3), weight=g($2, 4), bias=g($2, 4))
F.embedding(ix(0, 1), g($1, 4, 3))
F.embedding_bag(ix(0, 1).view(1, 2), g($1, 4, 3), per_sample_weights=t($2, 1, 2), mode="sum")
torch.cat([g($1, 4), g($2, 4)])
torch.stack([g($1, 4), g($2, 4)])
put(g($1, 4) * 1, ix(0, 1), g($2, 2))
put(g($1, 4) * 1, slice(0, 2), g($2, 2))
t($1, 4).index_copy_(0, ix(0, 1), t($2, 2))
t($1, 4).index_add_(0, ix(0, 1), t($2, 2))
g($1, 4).scatter(0, ix(0, 1), g($2, 2))
g($1, 4).scatter_add(0, ix(0, 1), g($2, 2))
t($1, 4).masked_scatter_(ix(1, 1, 0, 0).bool(), t($2, 4))
g($1, 4).masked_fill(ix(1, 1, 0, 0).bool(), t($2))
torch.where(ix(1, 0, 1, 0).bool(), g($1, 4), g($2, 4))
g($1, 4) + g($2, 4)
g($1, 4) * g($2)
g($1, 4) / g($2, 4)
t($1, 4).add_(t($2, 4))
t($1, 4).mul_(0.5)
t($1, 4).copy_(t($2, 4))
torch.addcmul(g($1, 4), g($2, 4), g($3, 4))
t($1, 4).addcdiv_(t($2, 4), t($3, 4))
torch.lerp(g($1, 4), g($2, 4), 0.5)
torch.clamp(g($1, 4), 0.3, 0.6)
torch.maximum(g($1, 4), g($2, 4))
F.mse_loss(g($1, 4), g($2, 4))
F.l1_loss(g($1, 4), g($2, 4))
F.smooth_l1_loss(g($1, 4), g($2, 4))
F.huber_loss(g($1, 4), g($2, 4))
F.kl_div(g($1, 4), t($2, 4))
F.cross_entropy(g($1, 2, 3), ix(0, 1), t($2, 3))
F.cross_entropy(g($1, 2, 3), ix(0, 1))
F.binary_cross_entropy(g($1, 4), t($2, 4))
F.binary_cross_entropy_with_logits(g($1, 4), t($2, 4))
F.cosine_similarity(g($1, 1, 4), g($2, 1, 4))
F.relu(g($1, 4))
F.silu(g($1, 4))
F.gelu(g($1, 4))
torch.sigmoid(g($1, 4))
torch.tanh(g($1, 4))
F.softplus(g($1, 4))
F.leaky_relu(g($1, 4))
F.prelu(g($1, 2, 3), g($2, 3))
F.softmax(g($1, 2, 3), -1)
F.log_softmax(g($1, 2, 3), -1)
F.dropout(g($1, 8), 0.5)
F.max_pool2d(g($1, 1, 2, 4, 4), 2)
F.avg_pool2d(g($1, 1, 2, 4, 4), 2)
F.adaptive_avg_pool2d(g($1, 1, 2, 4, 4), 2)
F.interpolate(g($1, 1, 2, 4, 4), scale_factor=2)
F.interpolate(g($1, 1, 2, 4, 4), scale_factor=2, mode="bilinear")
F.grid_sample(g($1, 1, 1, 4, 4), g($2, 1, 2, 2, 2), align_corners=False)
F.pad(g($1, 1, 2, 4), (1, 1), mode="reflect")
torch.exp(g($1, 4))
torch.sqrt(g($1, 4))
torch.rsqrt(g($1, 4))
g($1, 4) ** 2
torch.sum(g($1, 4))
torch.mean(g($1, 4))
torch.var(g($1, 4))
torch.norm(g($1, 4))
torch.cumsum(g($1, 4), 0)
torch.prod(g($1, 4))
torch.topk(g($1, 4), 2)[0]
torch.sort(g($1, 4))[0]
torch.cdist(g($1, 2, 3), g($2, 2, 3))
torch.linalg.solve(g($1, 3, 3) + 4 * torch.eye(3, dtype=$1), t($1, 3, 2))
torch.nn.LSTMCell(4, 4).to($1)(g($1, 2, 4))[0]
torch.nn.GRUCell(4, 4).to($1)(g($1, 2, 4))
torch.nn.LSTM(4, 4).to($1)(g($1, 2, 1, 4))[0]
torch.nn.MultiheadAttention(4, 2).to($1)(g($1, 3, 1, 4), g($1, 3, 1, 4), g($1, 3, 1, 4))[0]
torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0).to($1)(g($1, 3, 1, 8))
torch._foreach_add([t($1, 4)], [t($2, 4)])[0]
torch._foreach_addcdiv([t($1, 4)], [t($2, 4)], [t($2, 4)])[0]
(lambda p: (setattr(p, "grad", t($1, 4)), torch.optim.SGD([p], lr=0.1, momentum=0.9).step()))(torch.nn.Parameter(t($1, 4)))
(lambda p: (setattr(p, "grad", t($1, 4)), torch.optim.AdamW([p], lr=0.1, foreach=False).step()))(torch.nn.Parameter(t($1, 4)))
(lambda p: (setattr(p, "grad", t($1, 4)), torch.optim.AdamW([p], lr=0.1, foreach=True).step()))(torch.nn.Parameter(t($1, 4)))
(lambda p: (setattr(p, "grad", t($1, 4)), torch.optim.RMSprop([p], lr=0.1).step()))(torch.nn.Parameter(t($1, 4)))
(lambda p: (setattr(p, "grad", t($1, 4)), torch.optim.Adagrad([p], lr=0.1).step()))(torch.nn.Parameter(t($1, 4)))
"""


def dtypes_of(family):
    count = sum("$%d" % n in family for n in (1, 2, 3))
    for combination in itertools.product("fhbd", repeat=count):
        if len(set(combination)) <= 2:
            yield combination


def cases():
    for family in FAMILIES.strip().splitlines():
        for combination in dtypes_of(family):
            case = family
            for n, letter in enumerate(combination, 1):
                case = case.replace("$%d" % n, letter)
            yield case


if __name__ == "__main__":
    with open(sys.argv[1], "w") as out:
        out.write(HEAD + "".join("    lambda: %s,\n" % case for case in cases()) + TAIL)
