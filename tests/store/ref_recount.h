#pragma once

#include <string>
#include <vector>

namespace muster {
class Store;
}

namespace muster::test {

// What is wrong with refs and artifacts, in sentences: the count of each resource is compared with
// the rows of the living jobs that refer to it, and no row may outlive its job.
std::vector<std::string> refFaults(Store& store);

}  // namespace muster::test
