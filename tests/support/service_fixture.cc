#include "tests/support/service_fixture.h"

#include <iostream>
#include <memory>

namespace muster::test {
namespace {

std::unique_ptr<Service> shared;

// Stops the shared service as a person would, so that a leak or a hang at its end is seen.
class SharedServiceEnd : public testing::Environment {
 public:
  void TearDown() override {
    if (!shared) return;
    EXPECT_EQ(shared->stop(), 0) << shared->log();
    shared.reset();
  }
};
const testing::Environment* const kEnd = testing::AddGlobalTestEnvironment(new SharedServiceEnd());

void printEndOfLog(const std::string& log) {
  constexpr std::size_t kShown = 2000;
  std::cerr << "end of the service's log:\n"
            << log.substr(log.size() > kShown ? log.size() - kShown : 0) << "\n";
}

}  // namespace

Service& ServiceFixture::service() {
  if (!shared) shared = std::make_unique<Service>(ServiceOptions{.store = anyStore()});
  return *shared;
}

std::string ServiceFixture::testName() {
  return testing::UnitTest::GetInstance()->current_test_info()->name();
}

ServiceFixture::ServiceFixture() : pool_(service().url(), testName()), http_(pool_.http()) {}

void ServiceFixture::TearDown() {
  const bool alive = service().running();
  EXPECT_TRUE(alive) << "the service has ended";
  if (HasFailure()) printEndOfLog(service().log());
  if (!alive) service().start();
}

}  // namespace muster::test
