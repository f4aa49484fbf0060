#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/eventually.h"
#include "tests/support/pool_client.h"
#include "tests/support/problem.h"
#include "tests/support/service.h"

namespace muster::test {

// Tests that share one service (its ticker is off) and have a pool of their own each, named after
// the test. Worker ids are shared by all: name() makes one that no other test uses.
class ServiceFixture : public testing::Test {
 protected:
  ServiceFixture();
  void TearDown() override;

  static Service& service();
  static std::string testName();
  static std::string name(const std::string& suffix) { return testName() + "." + suffix; }

  PoolClient pool_;
  Http& http_;
};

}  // namespace muster::test
