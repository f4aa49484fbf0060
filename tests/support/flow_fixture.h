#pragma once

#include "tests/support/flow_client.h"
#include "tests/support/service_fixture.h"

namespace muster::test {

// As ServiceFixture, for flows whose jobs are in the pool of the test.
class FlowFixture : public ServiceFixture {
 protected:
  FlowClient flows_{pool_};
};

}  // namespace muster::test
