// What the manifests of Kubernetes promise about every pod.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <set>

namespace muster {
namespace {

std::vector<YAML::Node> manifests() {
  std::vector<YAML::Node> all;
  for (const char* file : {"muster.yaml", "postgres.yaml"}) {
    for (const YAML::Node& node :
         YAML::LoadAllFromFile(std::string(MUSTER_DEPLOY "/kubernetes/") + file)) {
      all.push_back(node);
    }
  }
  return all;
}

std::vector<YAML::Node> ofKind(const std::string& kind) {
  std::vector<YAML::Node> found;
  for (const YAML::Node& node : manifests()) {
    if (node["kind"].as<std::string>() == kind) found.push_back(node);
  }
  return found;
}

bool is(const YAML::Node& node, const std::string& value) {
  return node && node.as<std::string>() == value;
}

TEST(Kubernetes, pods_have_no_more_rights_than_they_need) {
  const auto sets = ofKind("StatefulSet");
  ASSERT_EQ(sets.size(), 2U);
  for (const YAML::Node& set : sets) {
    const YAML::Node pod = set["spec"]["template"]["spec"];
    const std::string name = set["metadata"]["name"].as<std::string>();
    EXPECT_TRUE(is(pod["automountServiceAccountToken"], "false")) << name;
    EXPECT_TRUE(is(pod["securityContext"]["runAsNonRoot"], "true")) << name;
    EXPECT_TRUE(is(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault")) << name;
    for (const YAML::Node& container : pod["containers"]) {
      const YAML::Node security = container["securityContext"];
      EXPECT_TRUE(is(security["allowPrivilegeEscalation"], "false")) << name;
      EXPECT_TRUE(is(security["readOnlyRootFilesystem"], "true")) << name;
      EXPECT_TRUE(is(security["capabilities"]["drop"][0], "ALL")) << name;
      for (const char* bound : {"requests", "limits"}) {
        EXPECT_TRUE(container["resources"][bound]["memory"]) << name << " " << bound;
        EXPECT_TRUE(container["resources"][bound]["cpu"]) << name << " " << bound;
      }
    }
  }
}

TEST(Kubernetes, a_policy_says_who_may_call_each_pod_and_whom_it_may_call) {
  std::set<std::string> pods, ruled;
  for (const YAML::Node& set : ofKind("StatefulSet")) {
    pods.insert(set["spec"]["template"]["metadata"]["labels"]["app"].as<std::string>());
  }
  for (const YAML::Node& policy : ofKind("NetworkPolicy")) {
    EXPECT_EQ(policy["spec"]["policyTypes"].size(), 2U);
    ruled.insert(policy["spec"]["podSelector"]["matchLabels"]["app"].as<std::string>());
  }
  EXPECT_EQ(pods, ruled);
}

TEST(Kubernetes, every_image_is_named_by_its_digest) {
  const YAML::Node images =
      YAML::LoadFile(MUSTER_DEPLOY "/kubernetes/kustomization.yaml")["images"];
  std::set<std::string> named;
  for (const YAML::Node& image : images) {
    EXPECT_TRUE(image["digest"].as<std::string>().starts_with("sha256:"));
    named.insert(image["name"].as<std::string>());
  }
  for (const YAML::Node& set : ofKind("StatefulSet")) {
    for (const YAML::Node& container : set["spec"]["template"]["spec"]["containers"]) {
      EXPECT_TRUE(named.contains(container["image"].as<std::string>())) << container["image"];
    }
  }
}

}  // namespace
}  // namespace muster
