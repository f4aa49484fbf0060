#pragma once

namespace muster {
class Storage;
}

namespace muster::test {

// One use of everything that can be done with flows, for those who look at the statements; so many
// jobs wait for one, and one waits for so many.
void useFlows(Storage& storage, int wide);

}  // namespace muster::test
