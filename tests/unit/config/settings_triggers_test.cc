#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "app/config/settings_sources.h"

namespace muster {
namespace {

using Names = std::vector<std::string>;

SettingsDraft triggerDraft(const std::string& yaml) {
  SettingsDraft draft;
  readYamlSettings("m.yml", yaml, draft);
  return draft;
}

Names faultsOf(const SettingsDraft& draft) {
  Names lines;
  for (const auto& fault : draft.faults) lines.push_back(fault.pointer + ": " + fault.detail);
  return lines;
}

Names namesOf(const std::vector<TriggerSpec>& triggers) {
  Names names;
  for (const auto& trigger : triggers) names.push_back(trigger.name);
  return names;
}

TEST(SettingsTriggers, areReadAsAListOrAMap) {
  const std::string list = R"(
triggers:
  - name: cron_5min
    type: cron
    schedule: "*/5 * * * *"
    machine: parallelization_checker
    input:
      pool_id: paper_analysis
  - name: local_subprocess
    type: subprocess
    on: work_added  # event name
    machine: parallelization_checker
)";
  const std::string map = R"(
triggers:
  cron_5min: {type: cron, schedule: "*/5 * * * *", machine: parallelization_checker, input: {pool_id: paper_analysis}}
  local_subprocess: {type: subprocess, on: work_added, machine: parallelization_checker}
)";
  for (const auto& yaml : {list, map}) {
    const auto draft = triggerDraft(yaml);
    ASSERT_EQ(faultsOf(draft), Names{});
    const auto& triggers = *draft.settings.triggers;
    ASSERT_EQ(namesOf(triggers), (Names{"cron_5min", "local_subprocess"}));
    EXPECT_EQ(triggers[0].schedule, "*/5 * * * *");
    EXPECT_EQ(triggers[0].input.pool, PoolId("paper_analysis"));
    EXPECT_EQ(triggers[1].on, "work_added");
  }
}

TEST(SettingsTriggers, areTheUsualOnesUnlessSomeAreConfigured) {
  EXPECT_EQ(namesOf(configuredTriggers(triggerDraft("").settings)),
            (Names{"check_on_work_added", "check_on_worker_exited", "work_added"}));
  EXPECT_EQ(namesOf(configuredTriggers(triggerDraft("triggers: []").settings)), Names{"work_added"})
      << "nothing checks by itself";
  const auto own = triggerDraft(
      "triggers: {work_added: {type: webhook, machine: parallelization_checker, "
      "auth: {type: token, secrets: [s]}}}");
  ASSERT_EQ(faultsOf(own), Names{});
  const auto triggers = configuredTriggers(own.settings);
  ASSERT_EQ(namesOf(triggers), Names{"work_added"});
  EXPECT_EQ(triggers[0].auth.type, TriggerAuth::Type::kToken);
}

TEST(SettingsTriggers, allFaultsAreToldWithTheirLines) {
  const auto draft = triggerDraft(R"(triggers:
  - name: a
    type: cron
    schedule: "61 * * * *"
    machine: toaster
  - name: a
    type: carrier_pigeon
    machine: parallelization_checker
  - type: in_loop
    on: full_moon
    machine: parallelization_checker
  - name: tz
    type: cron
    schedule: "0 0 * * *"
    timezone: Mars/Olympus
    machine: stale_worker_reaper
  - name: feb
    type: cron
    schedule: 0 0 30 2 *
    machine: stale_worker_reaper
  - name: hook
    type: webhook
    machine: parallelization_checker
    auth:
      type: standard
      secrets: [not base64!]
    colour: red
  - just text
)");
  EXPECT_EQ(
      faultsOf(draft),
      (Names{
          "m.yml:4:5: /schedule \"61\" is no minute (0 to 59)",
          "m.yml:5:5: /machine must be one of parallelization_checker, stale_worker_reaper",
          "m.yml:7:5: /type must be one of cron, webhook, subprocess, in_loop, lambda",
          "m.yml:6:5: a second trigger named \"a\"",
          "m.yml:9:5: /name is required",
          "m.yml:10:5: /on must be work_added, worker_exited or a type of event like job_poisoned",
          "m.yml:15:5: /timezone \"Mars/Olympus\" is no time zone known here",
          "m.yml:19:5: /schedule names a day that no month of it has",
          "m.yml:26:7: /auth/secrets must be whsec_ and base64",
          "m.yml:27:5: /colour is not a known field",
          "m.yml:28:5: a trigger is a plain value, expected one like {name: nightly, type: cron, "
          "schedule: \"0 3 * * *\", machine: stale_worker_reaper}",
      }));
}

TEST(SettingsTriggers, wrongShapesAreToldApart) {
  for (const char* yaml : {"triggers: x", "triggers:", "triggers: {a: 1}", "triggers: {a b: {}}"}) {
    EXPECT_EQ(faultsOf(triggerDraft(yaml)).size(), 1U) << yaml;
  }
}

class RegistryFile : public testing::Test {
 protected:
  RegistryFile() {
    std::string name = (std::filesystem::temp_directory_path() / "muster-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~RegistryFile() override { std::filesystem::remove_all(folder_); }

  Result<Settings> load(const std::string& registry, const std::string& settings = "",
                        Environment env = {}) {
    std::ofstream(folder_ / "muster.yml") << settings;
    std::ofstream(folder_ / "r.yml") << registry;
    env.emplace("MUSTER_TRIGGER_REGISTRY", (folder_ / "r.yml").string());
    return loadSettings({(folder_ / "muster.yml").string(), {}}, env);
  }
  std::filesystem::path folder_;
};

TEST_F(RegistryFile, holdsTriggersBesideThoseOfTheSettings) {
  const auto settings =
      load("triggers:\n  - {name: b, type: webhook, machine: parallelization_checker}\n",
           "triggers:\n  - {name: a, type: webhook, machine: parallelization_checker}\n");
  ASSERT_TRUE(settings) << settings.error().fields[0].detail;
  EXPECT_EQ(namesOf(*settings->triggers), (Names{"a", "b"}));
}

TEST_F(RegistryFile, withFaultsIsRefusedWithItsOwnLines) {
  const auto settings = load("trigers: []\ntriggers:\n- {name: x, type: cron, machine: y}\n");
  ASSERT_FALSE(settings);
  Names lines;
  for (const auto& fault : settings.error().fields) {
    lines.push_back(fault.pointer.substr(fault.pointer.rfind("r.yml")) + ": " + fault.detail);
  }
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].starts_with("r.yml:1:1: unknown key \"trigers\"")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("r.yml:3:25: /machine")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("r.yml:3:3: /schedule is required")) << lines[2];
  EXPECT_FALSE(load(""));
  EXPECT_FALSE(load("triggers: [\n"));
}

TEST_F(RegistryFile, thatIsNotThereIsAFault) {
  const auto settings = load("", "", {{"MUSTER_TRIGGER_REGISTRY", "/no/such/file.yml"}});
  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().fields[0].pointer, "MUSTER_TRIGGER_REGISTRY");
}

TEST_F(RegistryFile, warnsOfSecretsThatAreNotSet) {
  const std::string registry =
      "triggers:\n  - {name: a, type: webhook, machine: parallelization_checker, "
      "auth: {type: token, secrets: ['env:A_SECRET']}}\n";
  EXPECT_EQ(load(registry)->warnings.size(), 1U);
  EXPECT_TRUE(load(registry, "", {{"A_SECRET", "x"}})->warnings.empty());
}

}  // namespace
}  // namespace muster
