// A simulator's plugin without the simulator's headers: its base class, the macro that a build
// writes, macros on lines of a class, types that are first seen where one is made.
#include <simulator/pair.h>
#include <simulator/plugin_export.h>
#include <torch/script.h>

#include <map>
#include <vector>

class PLUGIN_EXPORT Potential : public Pair {
  SIMULATOR_CLASS(Potential)

 public:
  void compute(int steps);

 private:
  torch::jit::Module model;
  std::map<int, sim::Color> colors;
};

class PLUGIN_EXPORT Table {
 public:
  int rows = 0;
};

class MESH;  // no macro: one of the project's that is defined elsewhere
class MESH mesh;

std::vector<sim::Color> palette() { return {sim::Color(0, 0, 0), sim::Color(1, 0, 0)}; }

void Potential::compute(int steps) {
  this->restartinfo = 0;
  this->allocated = 1;
  int count = atom->nlocal;
  auto places = torch::zeros({count, 3});
  auto read = places.accessor<double, 2>();
  // EXPECT error: places is Float here and is read as double [unchecked-data-ptr]
  for (int i = 0; i < count; ++i) read[i][0] = atom->x[i][0] + neighbor->skin;
  std::vector<torch::jit::IValue> inputs = {places.to(torch::kFloat)};
  auto energy = model.forward(inputs).toTensor();
  force->add(energy.item<double>(), steps);
}
