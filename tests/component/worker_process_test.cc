#include "app/launch/worker_process.h"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

TEST(TemplateVersion, changesWithAnythingAboutTheTemplate) {
  const WorkerTemplate plain{WorkerTemplate::Kind::kRun, {"x"}, {}, {}};
  std::vector<WorkerTemplate> others(11, plain);
  others[0].kind = WorkerTemplate::Kind::kWorker;
  others[1].command = {"x", "gpu"};
  others[2].env = {{"gpu", "1"}};
  others[3].cwd = "gpu";
  others[4].capabilities = {"gpu"};
  others[5].executors = {"gpu"};
  others[6].capabilities = {"gpu", "big"};
  others[7].capabilities = others[7].executors = {"gpu"};
  others[8].pass_env = {"gpu"};
  others[9].user = SystemUser{"gpu", 1, 1};
  others[10].user = SystemUser{"gpu", 1, 2};
  std::set<std::string> versions = {templateVersion(plain)};
  for (const WorkerTemplate& made : others) versions.insert(templateVersion(made));
  EXPECT_EQ(versions.size(), 12U);
  EXPECT_EQ(templateVersion(plain), templateVersion(plain));
}

}  // namespace
}  // namespace muster
