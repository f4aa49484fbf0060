#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/pool_client.h"

namespace muster::test {

// The members of an object, as text, one after the other.
std::string fields(const std::vector<std::string>& members);

// Producers and workers of flows whose jobs are in one pool, unless they say otherwise. As in
// PoolClient, calls expect success unless they return a Reply.
class FlowClient {
 public:
  explicit FlowClient(PoolClient& pool) : pool_(pool), http_(pool.http()) {}

  // {"name": …, "pool_id": this pool, "data": 1, `more`}
  std::string job(const std::string& name, const std::string& more = {}) const;
  std::string jobIn(const std::string& pool, const std::string& name,
                    const std::string& more = {}) const;

  Reply tryCreate(const std::vector<std::string>& jobs, const std::string& more = {},
                  const Headers& headers = {});
  // The answer: {flow, jobs}.
  Json::Value create(const std::vector<std::string>& jobs, const std::string& more = {});
  Reply addJobs(const std::string& flow, const std::vector<std::string>& jobs);
  Reply addChildren(const Json::Value& claimed, const std::vector<std::string>& children);

  Json::Value shown(const std::string& flow);
  // The same, once it has ended.
  Json::Value ended(const std::string& flow);
  Reply act(const std::string& verb, const std::string& flow, const std::string& body = {});
  // All pages of …/jobs, …/edges.
  std::vector<Json::Value> all(const std::string& path, const std::string& query = {});
  // Status by name, of the jobs of all levels.
  std::map<std::string, std::string> statuses(const std::string& flow);
  Json::Value job(const std::string& flow, const std::string& name, const std::string& status);

  // Claims the next job, which must be this one.
  Json::Value claim(const std::string& name);
  void done(const Json::Value& claimed, const std::string& result = "null");
  void poisoned(const Json::Value& claimed, const std::string& error = "broken");
  // Claims and completes.
  void runs(const std::string& name, const std::string& result = "null");

 private:
  PoolClient& pool_;
  Http& http_;
};

std::string flowId(const Json::Value& created);
// The id of the job with this name, of the answer to its creation.
std::string jobId(const Json::Value& created, const std::string& name);
// "after": ["a", …]
std::string after(const std::vector<std::string>& names, const std::string& when = "after");

}  // namespace muster::test
