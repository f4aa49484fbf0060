#include "models/json/worker_json.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Lines = std::vector<std::string>;

template <class Reader>
auto reading(const std::string& text, Lines& noted, Reader reader) {
  const auto doc = JsonDoc::parse(text);
  EXPECT_TRUE(doc) << text;
  std::vector<FieldError> faults;
  auto answer = reader(doc->root(), faults);
  for (const FieldError& fault : faults) noted.push_back(fault.pointer + " " + fault.code);
  return answer;
}

TEST(ReadRegistration, readsEveryField) {
  Lines faults;
  const auto request = reading(
      R"({"worker_id":"w","pool_id":"p","host":"box","pid":42,"capabilities":["gpu"],
          "executor_types":["shell"],"slots":4,"mode":"loop","region":"eu",
          "started_at":"2026-03-01T12:00:00Z","launch_token":"t","metadata":{"a": 1}})",
      faults, readRegistration);
  EXPECT_EQ(faults, Lines{});
  const NewWorker& worker = request.worker;
  EXPECT_EQ(worker.id, WorkerId("w"));
  EXPECT_EQ(worker.pool, "p");
  EXPECT_EQ(worker.host, "box");
  EXPECT_EQ(worker.pid, 42);
  EXPECT_EQ(worker.capabilities, Lines{"gpu"});
  EXPECT_EQ(worker.executor_types, Lines{"shell"});
  EXPECT_EQ(worker.slots, 4);
  EXPECT_EQ(worker.mode, "loop");
  EXPECT_EQ(worker.region, "eu");
  EXPECT_EQ(worker.started_at, parseTime("2026-03-01T12:00:00Z"));
  EXPECT_EQ(request.launch_token, "t");
  EXPECT_EQ(worker.metadata, R"({"a": 1})");
}

TEST(ReadRegistration, needsNothing) {
  Lines faults;
  const auto request = reading("{}", faults, readRegistration);
  EXPECT_EQ(faults, Lines{});
  EXPECT_TRUE(request.worker.id.empty()) << "one will be made";
  EXPECT_EQ(request.worker.slots, 1);
}

TEST(ReadRegistration, notesAllFaultsAtOnce) {
  Lines faults;
  reading(
      R"({"worker_id":"a b","slots":0,"pid":-1,"mode":"x","capabilities":"gpu",
          "metadata":[],"colour":1})",
      faults, readRegistration);
  EXPECT_EQ(faults, (Lines{"/worker_id format", "/pid range", "/capabilities type", "/slots range",
                           "/mode choice", "/metadata type", "/colour unknown_field"}));
}

TEST(ReadRegistration, limitsTheSizeOfMetadata) {
  const auto metadata = [](std::size_t size) {
    return R"({"metadata":{"a":")" + std::string(size - 8, 'x') + "\"}}";
  };
  Lines faults;
  reading(metadata(65'536), faults, readRegistration);
  EXPECT_EQ(faults, Lines{});
  reading(metadata(65'537), faults, readRegistration);
  EXPECT_EQ(faults, Lines{"/metadata length"});
}

TEST(ReadWorkerChange, keepsAnUnknownStatus) {
  Lines faults;
  const auto change = reading(R"({"status":"napping","metadata":{},"current_task_id":"t"})", faults,
                              readWorkerChange);
  EXPECT_EQ(faults, Lines{});
  EXPECT_EQ(change.status, "napping");
  EXPECT_EQ(change.metadata, "{}");
  EXPECT_EQ(change.current_task, "t");
  EXPECT_FALSE(reading("{}", faults, readWorkerChange).status);
}

TEST(ReadHeartbeat, takesMetadataAndMetricsOnly) {
  Lines faults;
  const auto change =
      reading(R"({"metadata":{"a":1},"metrics":{"load":0.5},"held_resources_evicted":["r"]})",
              faults, readHeartbeat);
  EXPECT_EQ(faults, Lines{});
  EXPECT_EQ(change.metadata, R"({"a":1})");
  EXPECT_EQ(change.metrics, R"({"load":0.5})");
  reading(R"({"status":"active"})", faults, readHeartbeat);
  EXPECT_EQ(faults, Lines{"/status unknown_field"});
}

TEST(ReadHeartbeat, reads_what_resources_take) {
  Lines faults;
  const auto beat = reading(
      R"({"metrics":{"cpu":1,"resource":{"disk_bytes_in_use":7,"mem_bytes_in_use":1.5e3,
          "sessions_active":0,"mine":"x"}},"held_resources_evicted":["a","b/c"]})",
      faults, readHeartbeat);
  EXPECT_EQ(faults, Lines{});
  EXPECT_EQ(beat.use, (ResourceUse{7, 1500}));
  EXPECT_EQ(beat.removed, (std::vector<std::string>{"a", "b/c"}));
  const auto plain = reading(R"({"metrics":{"cpu":1}})", faults, readHeartbeat);
  EXPECT_EQ(plain.use, ResourceUse{});
  EXPECT_EQ(faults, Lines{});
}

TEST(ReadHeartbeat, notes_what_is_no_number_from_zero) {
  Lines faults;
  reading(R"({"metrics":{"resource":{"disk_bytes_in_use":-1,"mem_bytes_in_use":"1",
              "sessions_active":-1,"eviction_candidates":[],"last_gc_seconds":-0.5}}})",
          faults, readHeartbeat);
  EXPECT_EQ(faults.size(), 5U);
  for (const std::string& fault : faults) {
    EXPECT_TRUE(fault.starts_with("/metrics/resource/")) << fault;
  }
}

TEST(WriteCommands, name_a_scope_that_was_released) {
  const std::vector<ResourceCommand> commands = {{"", {"a", "b"}}, {"s", {"c"}}};
  JsonWriter out;
  out.beginArray();
  writeCommands(out, commands);
  out.endArray();
  EXPECT_EQ(out.take(), R"([{"type":"evict","resource_ids":["a","b"]},)"
                        R"({"type":"cleanup_scope","scope":"s","resource_ids":["c"]}])");
}

TEST(MergeObjects, putsTheChangeOverTheBase) {
  struct Merge {
    std::string base, change, merged;
  };
  const Merge merges[] = {
      {"{}", "{}", "{}"},
      {R"({"a":1})", "{}", R"({"a":1})"},
      {"{}", R"({"a":1})", R"({"a":1})"},
      {R"({"a":1,"b":2})", R"({"b":3,"c":4})", R"({"a":1,"b":3,"c":4})"},
      {R"({"a":1,"b":2})", R"({"a":null})", R"({"b":2})"},
      {"{}", R"({"a":null})", "{}"},
      {R"({"a":{"x":1}})", R"({"a":{"y":2}})", R"({"a":{"y":2}})"},
      {R"({"n":1234567890123456789})", R"({"m":0.10})", R"({"n":1234567890123456789,"m":0.10})"},
      {R"({"a\"b":1})", R"({"c":2})", R"({"a\"b":1,"c":2})"},
      {R"({"\u0061":1})", R"({"a":2})", R"({"a":2})"},
      {R"({"a":1})", "[]", R"({"a":1})"},
      {R"({"a":1})", "not json", R"({"a":1})"},
      {"", R"({"a":1})", R"({"a":1})"},
  };
  for (const Merge& m : merges) {
    EXPECT_EQ(mergeObjects(m.base, m.change), m.merged) << m.base << " + " << m.change;
  }
}

TEST(Texts, areReadBack) {
  for (const Lines& texts : {Lines{}, Lines{"a"}, Lines{"a", "\"quoted\"", "ä\n", ""}}) {
    EXPECT_EQ(parseTexts(writeTexts(texts)), texts);
  }
  EXPECT_EQ(parseTexts("broken"), Lines{});
}

TEST(WriteWorker, leavesOutWhatIsAbsent) {
  Worker worker;
  worker.id = WorkerId("w");
  worker.status = "active";
  worker.started_at = worker.last_heartbeat = fromMillis(0);
  worker.metadata = R"({"a":1})";
  worker.metrics = "{}";
  JsonWriter out;
  writeWorker(out, worker);
  EXPECT_EQ(
      out.take(),
      R"({"worker_id":"w","status":"active","capabilities":[],"executor_types":[],"slots":1,)"
      R"("started_at":"1970-01-01T00:00:00.000Z","last_heartbeat":"1970-01-01T00:00:00.000Z",)"
      R"("metadata":{"a":1},"metrics":{},"jobs_done":0,"jobs_failed":0,"version":1})");
}

TEST(WriteWorker, showsEverythingThatIsThere) {
  Worker worker;
  worker.id = WorkerId("w");
  worker.pool = "p";
  worker.status = "lost";
  worker.status_reason = "no heartbeat";
  worker.mode = "loop";
  worker.host = "box";
  worker.region = "eu";
  worker.pid = 42;
  worker.capabilities = {"gpu"};
  worker.current_task = "t";
  worker.metadata = worker.metrics = "{}";
  JsonWriter out;
  writeWorker(out, worker);
  const std::string text = out.take();
  ASSERT_TRUE(JsonDoc::parse(text)) << text;
  for (const char* part : {R"("pool_id":"p")", R"("status_reason":"no heartbeat")",
                           R"("mode":"loop")", R"("host":"box")", R"("region":"eu")", R"("pid":42)",
                           R"("capabilities":["gpu"])", R"("current_task_id":"t")"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

}  // namespace
}  // namespace muster
