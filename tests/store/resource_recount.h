#pragma once

#include <string>
#include <vector>

namespace muster {
class Store;
}

namespace muster::test {

// What is wrong with the counters of resources, in sentences: each is compared with the rows it
// stands for.
std::vector<std::string> resourceCounterFaults(Store& store);

}  // namespace muster::test
