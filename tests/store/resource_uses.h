#pragma once

#include "tests/store/resource_fixture.h"

namespace muster::test {

// One use of everything that can be done with resources, for those who look at the statements; with
// so many of them. The storage has rulesForUses(blobs).
void useResources(Storage& storage, FakeBlobs& blobs, int count);
ResourceRules rulesForUses(FakeBlobs& blobs);

}  // namespace muster::test
