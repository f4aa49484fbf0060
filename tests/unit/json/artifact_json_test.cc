#include "models/json/artifact_json.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Lines = std::vector<std::string>;

struct Read {
  HandedArtifacts handed;
  Lines faults;  // "POINTER CODE"
};
Read readItems(const std::string& items) {
  const std::string text = R"({"artifacts":)" + items + "}";
  const auto doc = JsonDoc::parse(text);
  std::vector<FieldError> faults;
  ObjectReader in(doc->root(), "", faults);
  Read read{readArtifacts(in, faults), {}};
  for (const FieldError& fault : faults) read.faults.push_back(fault.pointer + " " + fault.code);
  return read;
}

TEST(ReadArtifacts, values_and_references_are_written_anew) {
  const Read read = readItems(R"([
      {"name": "page/1", "type": "text", "value": [1, 2], "metadata": {"n": 1}},
      {"resourceId": "run/video", "workerId": "w", "workerName": "a host", "sizeBytes": 12,
       "expiresAt": "2026-11-19T01:02:03Z", "inline": false, "type": "file"},
      {"name": "none", "value": null}])");
  EXPECT_EQ(read.faults, Lines{});
  EXPECT_EQ(read.handed.json,
            R"([{"name":"page/1","type":"text","inline":true,"value":[1, 2],"metadata":{"n": 1}},)"
            R"({"name":"run/video","type":"file","inline":false,"resource_id":"run/video",)"
            R"("worker_id":"w","worker_name":"a host","size_bytes":12,)"
            R"("expires_at":"2026-11-19T01:02:03.000Z"},)"
            R"({"name":"none","inline":true,"value":null}])");
  ASSERT_EQ(read.handed.inlined.size(), 2U);
  EXPECT_EQ(read.handed.inlined[0].type, "text");
  EXPECT_EQ(read.handed.inlined[0].bytes, 6U);
  EXPECT_EQ(read.handed.inlined[0].pointer, "/artifacts/0");
  EXPECT_EQ(read.handed.inlined[1].pointer, "/artifacts/2");
}

TEST(ReadArtifacts, a_value_makes_it_inline_and_what_is_not_known_stays) {
  const Read read =
      readItems(R"([{"url": "u", "name": "a", "inline": false, "resource_id": "r", "value": 1},)"
                R"({"name": "b", "inline": true, "type": "text"},{"value": 2}])");
  EXPECT_EQ(read.faults, Lines{});
  EXPECT_EQ(read.handed.json,
            R"([{"name":"a","inline":true,"value":1,"resource_id":"r","url":"u"},)"
            R"({"name":"b","type":"text","inline":true},{"inline":true,"value":2}])");
  ASSERT_EQ(read.handed.inlined.size(), 3U);
  EXPECT_EQ(read.handed.inlined[1].bytes, 0U);
}

TEST(ReadArtifacts, a_note_is_kept_as_it_was_sent) {
  const Read read = readItems(R"([{"a": 1, "sizeBytes" : "x"}, {}])");
  EXPECT_EQ(read.faults, Lines{});
  EXPECT_EQ(read.handed.json, R"([{"a": 1, "sizeBytes" : "x"},{}])");
  EXPECT_TRUE(read.handed.inlined.empty());
  EXPECT_EQ(readItems("[]").handed.json, "");
  EXPECT_EQ(readItems("null").handed.json, "");
}

TEST(ReadArtifacts, faults_are_told_with_their_place) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"(["x"])", "/artifacts/0 type"},
      {R"([{"name":"a","value":1},{"name":"a","value":2}])", "/artifacts/1/name duplicate_name"},
      {R"([{"name":"../a","value":1}])", "/artifacts/0/name invalid"},
      {R"([{"name":"a//b","value":1}])", "/artifacts/0/name invalid"},
      {R"([{"name":"a b","value":1}])", "/artifacts/0/name invalid"},
      {R"([{"resource_id":"r","resourceId":"r"}])", "/artifacts/0/resourceId contradiction"},
      {R"([{"name":"a","sizeBytes":-1}])", "/artifacts/0/sizeBytes range"},
  };
  for (const auto& [items, fault] : cases) {
    const Lines faults = readItems(items).faults;
    EXPECT_NE(std::find(faults.begin(), faults.end(), fault), faults.end())
        << items << " gave " << (faults.empty() ? "nothing" : faults.front());
  }
}

TEST(FindArtifact, by_name) {
  const std::string kept = R"([{"a":1},{"name":"v","inline":true,"value":{"x":1}},)"
                           R"({"name":"r","inline":false,"resource_id":"run/r"}])";
  EXPECT_EQ(findArtifact(kept, "v")->value, R"({"x":1})");
  EXPECT_FALSE(findArtifact(kept, "r")->value);
  EXPECT_EQ(findArtifact(kept, "r")->resource, "run/r");
  EXPECT_FALSE(findArtifact(kept, "x"));
  EXPECT_FALSE(findArtifact("", "x"));
}

StoredArtifact storedAs(const std::string& name, int attempt = 1) {
  StoredArtifact stored{name, attempt, {}};
  stored.resource.id = "jobs/j/" + name;
  stored.resource.uid = "u~" + name;
  stored.resource.type = "file";
  stored.resource.size_bytes = 5;
  stored.resource.sha256 = "ab";
  return stored;
}

TEST(MergeArtifacts, what_is_stored_is_added_to_what_was_reported) {
  const std::string stored_a =
      R"("inline":false,"resource_id":"jobs/j/a","uid":"u~a","size_bytes":5,"sha256":"ab")";
  struct Case {
    std::string says, handed;
    std::vector<StoredArtifact> stored;
    std::string merged;
  };
  const Case cases[] = {
      {"nothing is stored",
       R"([{"name":"v","inline":true,"value":1}])",
       {},
       R"([{"name":"v","inline":true,"value":1}])"},
      {"nothing was reported",
       "",
       {storedAs("a", 2)},
       R"([{"name":"a","attempt":2,"type":"file",)" + stored_a + "}]"},
      {"by name, with more fields",
       R"([{"note":1},{"name":"a","type":"t","inline":false,"metadata":{},"x":[1]}])",
       {storedAs("a")},
       R"([{"note":1},{"name":"a","attempt":1,"type":"t",)" + stored_a +
           R"(,"metadata":{},"x":[1]}])"},
      {"by resource",
       R"([{"name":"b","inline":false,"resource_id":"u~a"}])",
       {storedAs("a")},
       R"([{"name":"a","attempt":1,"type":"file",)" + stored_a + "}]"},
      {"only named: it keeps the name of the report",
       R"([{"name":"b","inline":false,"resource_id":"jobs/j/a"}])",
       {storedAs("b", 0)},
       R"([{"name":"b","type":"file","inline":false,"resource_id":"jobs/j/b","uid":"u~b",)"
       R"("size_bytes":5,"sha256":"ab"}])"},
      {"others follow",
       R"([{"name":"v","inline":true,"value":1}])",
       {storedAs("a")},
       R"([{"name":"v","inline":true,"value":1},{"name":"a","attempt":1,"type":"file",)" +
           stored_a + "}]"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(mergeArtifacts(each.handed, each.stored), each.merged) << each.says;
  }
}

TEST(MergeArtifacts, what_it_wrote_is_found_with_its_resource) {
  const std::string merged = mergeArtifacts("", std::vector<StoredArtifact>{storedAs("a")});
  EXPECT_EQ(findArtifact(merged, "a")->uid, "u~a");
  EXPECT_EQ(findArtifact(merged, "a")->value, std::nullopt);
}

TEST(MayRegister, only_what_can_name_a_resource) {
  EXPECT_FALSE(mayRegister("1", ""));
  EXPECT_FALSE(mayRegister(std::nullopt, R"([{"name":"a","inline":true,"value":1}])"));
  EXPECT_TRUE(mayRegister(std::nullopt, R"([{"name":"a","inline":false,"resource_id":"r"}])"));
  EXPECT_TRUE(mayRegister(R"({"artifacts":[]})", ""));
}

}  // namespace
}  // namespace muster
