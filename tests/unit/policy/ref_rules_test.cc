#include "models/policy/ref_rules.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Lines = std::vector<std::string>;
using Input = NewFlowJob::Input;
constexpr Time kNow{Millis(1000)};

TEST(RefFault, only_what_is_there_and_of_the_tenant_takes_a_ref) {
  struct Case {
    std::string says;
    ResourceState state;
    std::string tenant;
    std::optional<Millis> left;
    std::optional<RefFault> fault;
  };
  const Case cases[] = {
      {"active", ResourceState::kActive, "", {}, {}},
      {"stale: it may come back", ResourceState::kStale, "", {}, {}},
      {"of the same tenant", ResourceState::kActive, "t", {}, {}},
      {"of another one", ResourceState::kActive, "u", {}, RefFault::kOtherTenant},
      {"of another one, and gone", ResourceState::kEvicted, "u", {}, RefFault::kOtherTenant},
      {"not complete", ResourceState::kUploading, "", {}, RefFault::kNotStored},
      {"on its way out", ResourceState::kEvicting, "", {}, RefFault::kGone},
      {"evicted", ResourceState::kEvicted, "", {}, RefFault::kGone},
      {"lost", ResourceState::kLost, "", {}, RefFault::kGone},
      {"with time left", ResourceState::kActive, "", Millis(1), {}},
      {"over, and not collected yet", ResourceState::kActive, "", Millis(0), RefFault::kGone},
  };
  for (const Case& each : cases) {
    Resource resource;
    resource.state = each.state;
    resource.tenant = each.tenant;
    if (each.left) resource.expires_at = kNow + *each.left;
    EXPECT_EQ(refFault(resource, "t", kNow), each.fault) << each.says;
  }
}

TEST(NamesOfRefs, the_last_segment_unless_another_has_it) {
  const std::vector<NamelessRef> refs{
      {"a/model", ""}, {"b/model", ""}, {"c/data", "model2"}, {"model2", ""}, {"plain", ""}};
  EXPECT_EQ(namesOfRefs(refs), (Lines{"model", "b/model", "model2", "model2", "plain"}))
      << "the fourth has no other name than one that was asked for";
  EXPECT_EQ(namesOfRefs({}), Lines{});
}

// "1:name 2:name", or the reason.
std::string found(const std::vector<Input>& inputs,
                  const std::vector<UpstreamArtifact>& artifacts) {
  const InputRefs refs = refsOfInputs(inputs, artifacts);
  if (!refs.reason.empty()) return refs.reason;
  std::string text;
  for (const InputRefs::Ref& ref : refs.refs) {
    text += (text.empty() ? "" : " ") + std::to_string(ref.resource) + ":" + ref.as;
  }
  return text;
}

TEST(RefsOfInputs, names_and_reasons) {
  const std::vector<UpstreamArtifact> there{{"a", "", "x", 1, {}},
                                            {"a", "", "y/z", 2, {}},
                                            {"a", "k", "x", 3, {}},
                                            {"b", "", "x", 4, {}},
                                            {"c", "", "gone", 5, RefFault::kGone},
                                            {"c", "", "here", 6, {}},
                                            {"d", "", "half", 7, RefFault::kNotStored}};
  struct Case {
    std::string says;
    std::vector<Input> inputs;
    std::string found;
  };
  const Case cases[] = {
      {"all of a job and its children", {{"a", "", "", false}}, "1:x 2:y/z 3:k/x"},
      {"one", {{"a", "y/z", "", false}}, "2:y/z"},
      {"one of a child", {{"a", "k/x", "", false}}, "3:k/x"},
      {"one under another name", {{"a", "x", "in", false}}, "1:in"},
      {"all in a folder", {{"a", "", "in", false}}, "1:in/x 2:in/y/z 3:in/k/x"},
      {"a name that is taken", {{"a", "x", "", false}, {"b", "", "", false}}, "1:x 4:b/x"},
      {"the same twice", {{"a", "x", "", false}, {"a", "x", "", false}}, "1:x"},
      {"nothing", {{"e", "", "", false}}, "input_missing"},
      {"no such artifact", {{"a", "q", "", false}}, "input_missing"},
      {"nothing, and it may be so", {{"e", "", "", true}, {"b", "", "", false}}, "4:x"},
      {"one is gone", {{"c", "", "", false}}, "resource_evicted"},
      {"one is gone, and it may be so", {{"c", "", "", true}}, "6:here"},
      {"one is not complete", {{"d", "half", "", false}}, "not_stored"},
  };
  for (const Case& each : cases) EXPECT_EQ(found(each.inputs, there), each.found) << each.says;
}

}  // namespace
}  // namespace muster
