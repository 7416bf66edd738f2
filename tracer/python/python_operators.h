// python_operators.h: operators whose kernels are written in Python (torch.library.custom_op). From
// 2.15 on torch calls such a kernel without its dispatcher, where no observer, torch's own profiler
// included, learns of the call. They are sent through the dispatcher again, as before 2.15: the
// same kernels run in the same order.
#pragma once

namespace dtypecheck::tracer::python {

// True when there is nothing left to do: all such operators, later ones too, go through the
// dispatcher. False while torch's own import has not come far enough; ask again. GIL held; runs
// Python code of torch.
bool dispatch_python_operators();

}  // namespace dtypecheck::tracer::python
