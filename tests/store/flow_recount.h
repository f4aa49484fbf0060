#pragma once

#include <string>
#include <vector>

namespace muster {
class Store;
}

namespace muster::test {

// What is wrong with the counters of all flows, in sentences: each is compared with the rows it
// stands for, by the pure functions of verdict.h. Also when something is left to settle; when
// nothing is, no job may wait in vain and no flow may have missed its end.
std::vector<std::string> flowCounterFaults(Store& store);

}  // namespace muster::test
