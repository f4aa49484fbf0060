#include "tests/support/flow_client.h"

#include <gtest/gtest.h>

namespace muster::test {

std::string fields(const std::vector<std::string>& members) {
  std::string text;
  for (const std::string& member : members) {
    if (!member.empty()) text += (text.empty() ? "" : ",") + member;
  }
  return text;
}

std::string flowId(const Json::Value& created) { return created["flow"]["flow_id"].asString(); }

std::string jobId(const Json::Value& created, const std::string& name) {
  for (const Json::Value& job : created["jobs"]) {
    if (job["name"] == name) return job["job_id"].asString();
  }
  ADD_FAILURE() << "there is no job " << name << " in " << created;
  return {};
}

std::string after(const std::vector<std::string>& names, const std::string& when) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(inQuotes(name));
  return inQuotes(when) + ":[" + fields(quoted) + "]";
}

std::string FlowClient::job(const std::string& name, const std::string& more) const {
  return jobIn(pool_.name(), name, more);
}

std::string FlowClient::jobIn(const std::string& pool, const std::string& name,
                              const std::string& more) const {
  return "{" +
         fields({R"("name":)" + inQuotes(name), R"("pool_id":)" + inQuotes(pool), R"("data":1)",
                 more}) +
         "}";
}

Reply FlowClient::tryCreate(const std::vector<std::string>& jobs, const std::string& more,
                            const Headers& headers) {
  return http_.post("/v1/flows", "{" + fields({R"("jobs":[)" + fields(jobs) + "]", more}) + "}",
                    headers);
}

Json::Value FlowClient::create(const std::vector<std::string>& jobs, const std::string& more) {
  const Reply reply = tryCreate(jobs, more);
  EXPECT_EQ(reply.status, 201) << reply;
  return reply.json;
}

Reply FlowClient::addJobs(const std::string& flow, const std::vector<std::string>& jobs) {
  return act("jobs", flow, R"({"jobs":[)" + fields(jobs) + "]}");
}

Reply FlowClient::addChildren(const Json::Value& claimed,
                              const std::vector<std::string>& children) {
  return pool_.report("children", claimed, R"("jobs":[)" + fields(children) + "]");
}

Json::Value FlowClient::shown(const std::string& flow) {
  const Reply reply = http_.get("/v1/flows/" + flow);
  EXPECT_EQ(reply.status, 200) << reply;
  return reply.json;
}

Json::Value FlowClient::ended(const std::string& flow) {
  const Reply reply = http_.get("/v1/flows/" + flow + "?wait_seconds=30");
  EXPECT_EQ(reply.status, 200) << reply;
  EXPECT_TRUE(reply.json.isMember("ended_at")) << "it has not ended: " << reply;
  return reply.json;
}

Reply FlowClient::act(const std::string& verb, const std::string& flow, const std::string& body) {
  return http_.post("/v1/flows/" + flow + "/" + verb, body);
}

std::vector<Json::Value> FlowClient::all(const std::string& path, const std::string& query) {
  std::vector<Json::Value> items;
  std::string cursor;
  do {
    const Reply page = http_.get(path + "?" + query + (cursor.empty() ? "" : "&cursor=" + cursor));
    EXPECT_EQ(page.status, 200) << page;
    for (const Json::Value& item : page.json["items"]) items.push_back(item);
    cursor = page.json["next_cursor"].asString();
  } while (!cursor.empty());
  return items;
}

std::map<std::string, std::string> FlowClient::statuses(const std::string& flow) {
  std::map<std::string, std::string> by_name;
  for (const Json::Value& job : all("/v1/flows/" + flow + "/jobs")) {
    by_name[job["name"].asString()] = job["status"].asString();
  }
  return by_name;
}

Json::Value FlowClient::job(const std::string& flow, const std::string& name,
                            const std::string& status) {
  for (const Json::Value& job : all("/v1/flows/" + flow + "/jobs")) {
    if (job["name"] != name) continue;
    EXPECT_EQ(job["status"], status) << job;
    return job;
  }
  ADD_FAILURE() << "there is no job " << name;
  return {};
}

Json::Value FlowClient::claim(const std::string& name) {
  const Json::Value claimed = pool_.claimOne();
  EXPECT_EQ(claimed["name"], name) << claimed;
  return claimed;
}

void FlowClient::done(const Json::Value& claimed, const std::string& result) {
  const Reply reply = pool_.report("complete", claimed, R"("result":)" + result);
  EXPECT_EQ(reply.json["status"], "done") << reply;
}

void FlowClient::poisoned(const Json::Value& claimed, const std::string& error) {
  const Reply reply = pool_.report(
      "fail", claimed, fields({R"("error":)" + inQuotes(error), R"("retryable":false)"}));
  EXPECT_EQ(reply.json["status"], "poisoned") << reply;
}

void FlowClient::runs(const std::string& name, const std::string& result) {
  done(claim(name), result);
}

}  // namespace muster::test
