// random_run.h: runs that hold anything a reader may make, hostile strings included.
#pragma once

#include <random>

#include "core/run.h"

namespace dtypecheck::test {

Run random_run(unsigned seed);

}  // namespace dtypecheck::test
