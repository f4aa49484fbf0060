#include "models/json/resource_json.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace muster {
namespace {

std::set<std::string> pointersOf(const std::vector<FieldError>& faults) {
  std::set<std::string> pointers;
  for (const FieldError& fault : faults) pointers.insert(fault.pointer);
  return pointers;
}

std::set<std::string> faultsOfArtifact(const std::string& body) {
  std::vector<FieldError> faults;
  readRegisterArtifact(JsonDoc::parse(body)->root(), faults);
  return pointersOf(faults);
}

TEST(ResourceJson, reads_an_artifact) {
  std::vector<FieldError> faults;
  const auto doc = JsonDoc::parse(
      R"({"lease_token":"t","name":"a/b","size_bytes":3,"mime":"text/plain","ttl_seconds":1.5,
          "holder":"host:h","metadata":{"page":1}})");
  const RegisterArtifact op = readRegisterArtifact(doc->root(), faults);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(op.lease_token, "t");
  EXPECT_EQ(op.name, "a/b");
  EXPECT_EQ(op.resource.type, "file") << "as nothing else is said";
  EXPECT_EQ(op.resource.size_bytes, 3);
  EXPECT_EQ(op.resource.ttl, Millis(1500));
  EXPECT_EQ(op.resource.holder.text(), "host:h");
  EXPECT_EQ(op.resource.metadata, R"({"page":1})");
}

TEST(ResourceJson, notes_every_fault_of_an_artifact) {
  EXPECT_EQ(faultsOfArtifact("{}"), (std::set<std::string>{"/lease_token", "/name"}));
  EXPECT_EQ(
      faultsOfArtifact(R"({"lease_token":"t","name":"a/../b","sha256":"x","mime":"a\nb",
                                 "holder":"me","size_bytes":-1,"scope":"s"})"),
      (std::set<std::string>{"/name", "/sha256", "/mime", "/holder", "/size_bytes", "/scope"}));
}

}  // namespace
}  // namespace muster
