#include "cures/printed_numbers.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace dtypecheck::cures;
using Numbers = std::vector<double>;

TEST_CASE("Numbers with a point or an exponent are compared") {
  CHECK(numbers_in("step 3 of 10: loss 0.25, 1e-3.") == Numbers{0.25, 1e-3});
  CHECK(numbers_in("3 steps of v2.0 x0.5 took 1.2.3").empty());
  CHECK(std::isnan(numbers_in("loss nan").at(0)));
}

TEST_CASE("Of a progress bar, the last loss is compared") {
  CHECK(last_loss_in("Steps: 67%|### | 2/3 [00:01<00:00, 1.50it/s, lr=1e-4, step_loss=0.5]\r"
                     "Steps: 100%|####| 3/3 [00:02<00:00, 1.48it/s, lr=1e-4, step_loss=0.987]") ==
        Numbers{0.987});
  CHECK(last_loss_in("INFO - train - {'loss': 1.5e-2, 'grad_norm': 3.25}\n") == Numbers{1.5e-2});
  CHECK(last_loss_in("[epoch 1] Loss: 2\n") == Numbers{2});
  CHECK(std::isnan(last_loss_in("avr_loss=nan]").at(0)));
  CHECK(last_loss_in("100%|####| 3/3 [00:02<00:00, 1.48it/s, lr=0.0001]").empty());
  CHECK(last_loss_in("loss_scale=0.5, loss scaled by 2; the loss: finite").empty());
}
