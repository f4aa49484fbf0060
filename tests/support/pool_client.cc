#include "tests/support/pool_client.h"

#include <gtest/gtest.h>

namespace muster::test {
namespace {

std::string object(const std::string& first, const std::string& more) {
  return "{" + first + (first.empty() || more.empty() ? "" : ",") + more + "}";
}

std::vector<Json::Value> itemsOf(const Json::Value& answer) {
  const Json::Value& items = answer["items"];
  return {items.begin(), items.end()};
}

std::string idOf(const Json::Value& job) { return job["id"].asString(); }

// The answer when it has this status; else a failure is noted and it is null.
Json::Value expected(int status, const Reply& reply) {
  EXPECT_EQ(reply.status, status) << reply;
  return reply.status == status ? reply.json : Json::Value();
}

}  // namespace

std::string inQuotes(const std::string& text) { return "\"" + text + "\""; }

std::vector<std::string> ids(const std::vector<Json::Value>& jobs) {
  std::vector<std::string> list;
  for (const Json::Value& job : jobs) list.push_back(idOf(job));
  return list;
}

void PoolClient::configure(const std::string& fields) {
  const Reply reply = http_.put(path(), object(fields, ""));
  EXPECT_TRUE(reply.ok()) << reply;
}

Reply PoolClient::tryPush(const std::string& fields, Headers headers) {
  return http_.post(path("/jobs"), object(fields, ""), std::move(headers));
}

Json::Value PoolClient::push(const std::string& fields) { return expected(201, tryPush(fields)); }

std::vector<std::string> PoolClient::pushMany(int count) {
  std::string items;
  for (int i = 0; i < count; ++i) {
    items += (i == 0 ? R"({"data":)" : R"(,{"data":)") + std::to_string(i) + "}";
  }
  const Reply reply = http_.post(path("/jobs/batch"), R"({"items":[)" + items + "]}");
  return ids(itemsOf(expected(201, reply)));
}

Json::Value PoolClient::job(const Json::Value& job) {
  return expected(200, http_.get("/v1/jobs/" + idOf(job)));
}

Json::Value PoolClient::stats() { return expected(200, http_.get(path("/stats"))); }

std::vector<Json::Value> PoolClient::pages(const std::string& path, std::string query) {
  std::vector<Json::Value> all;
  std::string cursor;
  if (!query.empty()) query += "&";
  do {
    const Reply reply =
        http_.get(path + "?" + query + "limit=200" + (cursor.empty() ? "" : "&cursor=" + cursor));
    const Json::Value page = expected(200, reply);
    for (const Json::Value& item : itemsOf(page)) all.push_back(item);
    cursor = page["next_cursor"].asString();
  } while (!cursor.empty());
  return all;
}

std::vector<Json::Value> PoolClient::list(const std::string& query) {
  return pages(path("/jobs"), query);
}

std::vector<Json::Value> PoolClient::events(const std::string& query) {
  return pages("/v1/events", query);
}

std::vector<std::string> PoolClient::eventTypes(const Json::Value& job) {
  std::vector<std::string> types;
  for (const Json::Value& event : events("job_id=" + idOf(job))) {
    types.push_back(event["type"].asString());
  }
  return types;
}

std::string PoolClient::lastEventType(const Json::Value& job) {
  const std::vector<std::string> types = eventTypes(job);
  return types.empty() ? "" : types.back();
}

Reply PoolClient::tryClaim(const std::string& worker, const std::string& fields) {
  return http_.post(path("/claim"), object(R"("worker_id":)" + inQuotes(worker), fields));
}

std::vector<Json::Value> PoolClient::claim(const std::string& worker, const std::string& fields) {
  return itemsOf(expected(200, tryClaim(worker, fields)));
}

Json::Value PoolClient::claimOne(const std::string& worker) {
  const std::vector<Json::Value> items = claim(worker);
  EXPECT_EQ(items.size(), 1U) << "claimed by " << worker;
  return items.empty() ? Json::Value() : items.front();
}

Reply PoolClient::report(const std::string& verb, const Json::Value& claimed,
                         const std::string& fields) {
  const std::string token = R"("lease_token":)" + inQuotes(claimed["lease_token"].asString());
  return act(verb, claimed, object(token, fields));
}

Reply PoolClient::act(const std::string& verb, const Json::Value& job, const std::string& body) {
  return http_.post("/v1/jobs/" + idOf(job) + "/" + verb, body);
}

Json::Value PoolClient::registerWorker(const std::string& worker, const std::string& fields) {
  const std::string who = R"("worker_id":)" + inQuotes(worker) + R"(,"pool_id":)" + inQuotes(pool_);
  return expected(201, http_.post("/v1/workers", object(who, fields)));
}

Json::Value PoolClient::worker(const std::string& worker) {
  return expected(200, http_.get("/v1/workers/" + worker));
}

Reply PoolClient::heartbeat(const std::string& worker, const std::string& body) {
  return http_.post("/v1/workers/" + worker + "/heartbeat", body);
}

Json::Value PoolClient::tick() { return expected(200, http_.post("/v1/tick")); }

}  // namespace muster::test
