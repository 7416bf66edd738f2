from torch.nn.modules.module import Module  # noqa: F401
from torch.nn.modules.layers import Leaf, Sequential  # noqa: F401
