#pragma once

#include <json/value.h>

#include <string>
#include <vector>

#include "tests/support/http.h"

namespace muster::test {

// What producers and workers of one pool do. Unless they return a Reply, the calls expect success
// and note a test failure otherwise. `fields` are the members of a JSON object, without its braces.
class PoolClient {
 public:
  PoolClient(const std::string& url, std::string pool, HttpsFiles files = {})
      : http_(url, std::move(files)), pool_(std::move(pool)) {}

  Http& http() { return http_; }
  const std::string& name() const { return pool_; }
  std::string path(const std::string& tail = {}) const { return "/v1/pools/" + pool_ + tail; }

  void configure(const std::string& fields);  // PUT of the pool
  Reply tryPush(const std::string& fields, Headers headers = {});
  Json::Value push(const std::string& fields = R"("data":1)");
  std::vector<std::string> pushMany(int count);  // data 0, 1, 2 …; their ids
  Json::Value job(const Json::Value& job);       // as it is now
  Json::Value stats();
  std::vector<Json::Value> list(const std::string& query = {});  // all pages
  std::vector<Json::Value> events(const std::string& query);     // all pages
  std::vector<std::string> eventTypes(const Json::Value& job);
  std::string lastEventType(const Json::Value& job);

  Reply tryClaim(const std::string& worker, const std::string& fields = {});
  std::vector<Json::Value> claim(const std::string& worker, const std::string& fields = {});
  Json::Value claimOne(const std::string& worker = "w1");  // null and a failure when there is none
  // complete, fail, renew, release, progress with the token of the claimed job.
  Reply report(const std::string& verb, const Json::Value& claimed, const std::string& fields = {});
  Reply act(const std::string& verb, const Json::Value& job, const std::string& body = {});

  Json::Value registerWorker(const std::string& worker, const std::string& fields = {});
  Json::Value worker(const std::string& worker);
  Reply heartbeat(const std::string& worker, const std::string& body = {});
  Json::Value tick();

 private:
  std::vector<Json::Value> pages(const std::string& path, std::string query);

  Http http_;
  std::string pool_;
};

std::string inQuotes(const std::string& text);  // of characters that need no escape
std::vector<std::string> ids(const std::vector<Json::Value>& jobs);

}  // namespace muster::test
