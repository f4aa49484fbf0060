#include <algorithm>
#include <set>

#include "tests/cluster/cluster_fixture.h"
#include "tests/support/webhook_receiver.h"

namespace muster::test {
namespace {

constexpr const char* kSettings =
    "webhook_allow: [127.0.0.0/8]\nwebhook_retry_base_seconds: 0\ntriggers: []\n";

class WebhookClusterTest : public ClusterFixture {
 protected:
  // Jobs that somebody was told of.
  std::set<std::string> toldOf() {
    std::set<std::string> jobs;
    for (const ReceivedCall& call : receiver_.calls()) {
      jobs.insert(call.json()["data"]["job_id"].asString());
    }
    return jobs;
  }
  bool arrives(const std::set<std::string>& jobs) {
    return becomes([&] {
      const auto told = toldOf();
      return std::includes(told.begin(), told.end(), jobs.begin(), jobs.end());
    });
  }
  std::set<std::string> push(const std::string& at, int count) {
    const auto ids = pool(at).pushMany(count);
    return {ids.begin(), ids.end()};
  }
  void create(const std::string& node) {
    const Reply made = at(node).post(
        "/v1/webhooks", R"({"url":")" + receiver_.url() + R"(","types":["job.created"]})");
    ASSERT_EQ(made.status, 201) << made;
  }

  WebhookReceiver receiver_;
};

TEST_F(WebhookClusterTest, eachEventIsDeliveredOnceWhereverItHappens) {
  for (const std::string id : {"a", "b", "c"}) start(id, kSettings);
  const std::string first = leader({"a", "b", "c"});
  create(first == "a" ? "b" : "a");
  std::set<std::string> jobs;
  for (const std::string id : {"a", "b", "c"}) jobs.merge(push(id, 20));
  EXPECT_TRUE(arrives(jobs));
  EXPECT_EQ(receiver_.count(), jobs.size());
}

TEST_F(WebhookClusterTest, theNextLeaderDeliversWhatTheLastOneLeftBehind) {
  for (const std::string id : {"a", "b"}) startShortLived(id, kSettings);
  const std::string first = leader({"a", "b"});
  const std::string other = first == "a" ? "b" : "a";
  create(first);
  std::set<std::string> jobs = push(other, 50);
  ASSERT_TRUE(becomes([&] { return receiver_.count() > 5; }));
  node(first).kill9();
  jobs.merge(push(other, 50));
  EXPECT_TRUE(arrives(jobs));
}

}  // namespace
}  // namespace muster::test
