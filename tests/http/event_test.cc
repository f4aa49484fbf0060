#include <algorithm>
#include <sstream>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

struct StreamedEvent {
  std::string id;
  std::string type;
  std::string data;
};

// The complete events in what a stream has sent so far.
std::vector<StreamedEvent> parseStream(const std::string& text) {
  std::vector<StreamedEvent> events;
  StreamedEvent event;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto field = [&line](std::string_view name) { return line.substr(name.size()); };
    if (line.starts_with("id: ")) event.id = field("id: ");
    if (line.starts_with("event: ")) event.type = field("event: ");
    if (line.starts_with("data: ")) event.data += field("data: ");
    if (line.empty() && !lines.eof()) {
      if (!event.data.empty()) events.push_back(event);
      event = {};
    }
  }
  return events;
}

std::vector<std::string> types(const std::vector<StreamedEvent>& events) {
  std::vector<std::string> list;
  for (const StreamedEvent& event : events) list.push_back(event.type);
  return list;
}

class Events : public ServiceFixture {
 protected:
  Request stream(const std::string& more = {}, Headers headers = {}) const {
    return {"GET", "/v1/events/stream?pool_id=" + pool_.name() + more, "", std::move(headers)};
  }
  static bool receives(PendingReply& stream, std::size_t count) {
    return stream.until(
        kPatience, [count](const Reply& reply) { return parseStream(reply.body).size() >= count; });
  }
};

TEST_F(Events, tell_the_way_of_one_job_in_order) {
  pool_.registerWorker(name("w"), R"("host":"node-a")");
  const Json::Value job = pool_.push(R"("data":{"n":1},"max_retries":3)");
  pool_.configure(R"("retry":{"base_ms":0})");
  const Json::Value first = pool_.claimOne(name("w"));
  ASSERT_EQ(pool_.report("progress", first, R"("progress":0.5)").status, 200);
  ASSERT_EQ(pool_.report("fail", first, R"("error":"no network")").status, 200);
  const Json::Value second = pool_.claimOne(name("w"));
  ASSERT_EQ(pool_.report("release", second).status, 200);
  const Json::Value third = pool_.claimOne(name("w"));
  ASSERT_EQ(pool_.heartbeat(name("w")).status, 200);
  const Reply done = pool_.report("complete", third, R"("result":{"ok":true})");
  ASSERT_EQ(done.status, 200) << done;

  EXPECT_EQ(
      pool_.eventTypes(job),
      (std::vector<std::string>{"job.created", "job.claimed", "job.progress", "job.failed",
                                "job.claimed", "job.released", "job.claimed", "job.completed"}));
  const std::vector<Json::Value> events = pool_.events("job_id=" + job["id"].asString());
  EXPECT_TRUE(std::is_sorted(events.begin(), events.end(), [](const auto& a, const auto& b) {
    return a["seq"].asInt64() < b["seq"].asInt64();
  }));
  for (const Json::Value& event : events) {
    EXPECT_EQ(event["pool_id"], pool_.name());
    EXPECT_EQ(event["job_id"], job["id"]);
    EXPECT_TRUE(event["details"].isObject());
    EXPECT_TRUE(event["at"].isString());
  }
  EXPECT_EQ(events.at(1)["worker_id"], name("w"));
  EXPECT_EQ(events.at(1)["attempt"], 1);
  EXPECT_EQ(pool_.job(job)["result"]["ok"], true);
  EXPECT_EQ(pool_.stats()["done"], 1);
  EXPECT_EQ(pool_.worker(name("w"))["jobs_done"], 1);
  EXPECT_EQ(http_.get("/v1/jobs/" + job["id"].asString() + "/attempts").json["items"].size(), 3U);
}

TEST_F(Events, pools_and_workers_have_them_too) {
  pool_.configure("");
  pool_.configure(R"("slots":2)");
  http_.post(pool_.path("/pause"));
  http_.post(pool_.path("/resume"));
  pool_.registerWorker(name("w"));
  http_.post("/v1/workers/" + name("w") + "/terminate");
  http_.patch("/v1/workers/" + name("w"), R"({"status":"terminated"})");
  ASSERT_EQ(http_.del(pool_.path()).status, 204);
  std::vector<std::string> seen;
  for (const Json::Value& event : pool_.events("pool_id=" + pool_.name())) {
    seen.push_back(event["type"].asString());
  }
  EXPECT_EQ(seen,
            (std::vector<std::string>{"pool.created", "pool.updated", "pool.paused", "pool.resumed",
                                      "worker.registered", "worker.terminating",
                                      "worker.terminated", "pool.deleted"}));
  EXPECT_EQ(pool_.events("worker_id=" + name("w")).size(), 3U);
}

TEST_F(Events, the_latest_can_be_asked_for) {
  const auto ids = pool_.pushMany(5);
  const Reply latest = http_.get("/v1/events?last=2&pool_id=" + pool_.name());
  ASSERT_EQ(latest.status, 200) << latest;
  ASSERT_EQ(latest.json["items"].size(), 2U);
  EXPECT_EQ(latest.json["items"][0]["job_id"], ids[3]);
  EXPECT_EQ(latest.json["items"][1]["job_id"], ids[4]);
  EXPECT_FALSE(latest.json.isMember("next_cursor"));
}

TEST_F(Events, the_list_filters_by_type_and_position) {
  pool_.pushMany(3);
  const std::string mine = "pool_id=" + pool_.name();
  const std::vector<Json::Value> created = pool_.events(mine + "&types=job.created");
  ASSERT_EQ(created.size(), 3U);
  EXPECT_EQ(pool_.events(mine + "&types=job.created,pool.created").size(), 4U);
  EXPECT_EQ(pool_.events(mine + "&types=job.claimed").size(), 0U);
  EXPECT_EQ(pool_.events(mine + "&after=" + created.at(0)["seq"].asString()).size(), 2U);
  EXPECT_EQ(http_.get("/v1/events?limit=2&" + mine).json["items"].size(), 2U);
  for (const char* bad : {"after=-1", "after=x", "limit=0", "pool_id=a%20b", "last=0", "last=201",
                          "last=5&after=1", "last=5&cursor=1"}) {
    EXPECT_TRUE(isProblem(http_.get(std::string("/v1/events?") + bad), 400)) << bad;
  }
}

TEST_F(Events, the_stream_follows_as_they_happen) {
  pool_.configure("");
  PendingReply events(service().url(), stream());
  ASSERT_TRUE(events.until(kPatience, [](const Reply& reply) {
    return reply.header("content-type").starts_with("text/event-stream");
  })) << events.reply();
  const Json::Value job = pool_.push();
  ASSERT_TRUE(receives(events, 1)) << events.reply().body;
  ASSERT_EQ(pool_.report("complete", pool_.claimOne()).status, 200);
  ASSERT_TRUE(receives(events, 3)) << events.reply().body;
  const std::vector<StreamedEvent> seen = parseStream(events.reply().body);
  EXPECT_EQ(types(seen), (std::vector<std::string>{"job.created", "job.claimed", "job.completed"}));
  const std::vector<Json::Value> listed = pool_.events("job_id=" + job["id"].asString());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen.at(i).id, listed.at(i)["seq"].asString());
    EXPECT_NE(seen.at(i).data.find(job["id"].asString()), std::string::npos);
  }
}

TEST_F(Events, the_stream_resumes_after_the_last_one_seen) {
  pool_.pushMany(5);
  const std::vector<Json::Value> listed = pool_.events("types=job.created&pool_id=" + pool_.name());
  ASSERT_EQ(listed.size(), 5U);
  const std::string third = listed.at(2)["seq"].asString();
  PendingReply by_header(service().url(), stream("", {{"Last-Event-ID", third}}));
  PendingReply by_query(service().url(), stream("&after=" + third));
  for (PendingReply* events : {&by_header, &by_query}) {
    ASSERT_TRUE(receives(*events, 2)) << events->reply();
    pool_.push();
    ASSERT_TRUE(receives(*events, 3)) << events->reply();
    const std::vector<StreamedEvent> seen = parseStream(events->reply().body);
    EXPECT_EQ(seen.at(0).id, listed.at(3)["seq"].asString());
    EXPECT_EQ(seen.at(1).id, listed.at(4)["seq"].asString());
  }
}

TEST_F(Events, the_stream_has_no_gaps_between_past_and_present) {
  std::vector<std::string> expected = pool_.pushMany(700);
  PendingReply events(service().url(), stream("&types=job.created&after=0"));
  for (int i = 0; i < 50; ++i) expected.push_back(pool_.push()["id"].asString());
  ASSERT_TRUE(receives(events, expected.size()))
      << parseStream(events.reply().body).size() << " events";
  const std::vector<StreamedEvent> seen = parseStream(events.reply().body);
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    ASSERT_NE(seen.at(i).data.find(expected[i]), std::string::npos) << i << ": " << seen.at(i).data;
  }
}

TEST_F(Events, a_bad_position_is_400) {
  EXPECT_TRUE(isProblem(http_.get("/v1/events/stream", {{"Last-Event-ID", "x"}}), 400));
  EXPECT_TRUE(isProblem(http_.get("/v1/events/stream?after=x"), 400));
}

TEST_F(Events, their_numbers_rise_over_a_restart) {
  Service own;
  PoolClient before(own.url(), "p");
  before.pushMany(3);
  const std::vector<Json::Value> old = before.events("");
  ASSERT_FALSE(old.empty());
  own.restart();
  PoolClient after(own.url(), "p");
  const Json::Value job = after.push();
  EXPECT_GT(after.events("job_id=" + job["id"].asString()).at(0)["seq"].asInt64(),
            old.back()["seq"].asInt64());
}

}  // namespace
}  // namespace muster::test
