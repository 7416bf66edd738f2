// with_checks.h: damage that no checksum shows. Those who write trace files need not be our writer.
#pragma once

#include <string>

namespace dtypecheck::test {

// The same bytes, in which the checksums of the header and of each record that is as long as its
// counts say are right.
std::string with_checks(std::string bytes);

}  // namespace dtypecheck::test
