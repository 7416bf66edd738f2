# A product in place inside of a matmul writes no tensor of the line. Its matrix is asked for in Double, and what it meets is not in Float.
# EXPECT-CURE torch.eye(3, dtype=torch.float64)
import torch


class Filter:
    def __init__(self, n):
        self.step = torch.eye(n, dtype=torch.float64)

    def predict(self, x, spread):
        return self.step @ x, self.step @ spread @ self.step.T


print(Filter(3).predict(torch.zeros(3), torch.eye(3)))
