#include "tests/support/problem.h"

namespace muster::test {
namespace {

std::string whatIsWrong(const Reply& reply, int status, const std::string& code) {
  if (reply.status != status) return "status is not " + std::to_string(status);
  if (reply.header("content-type").find("application/problem+json") != 0) {
    return "the content type is '" + reply.header("content-type") + "'";
  }
  if (!reply.json.isObject()) return "the body is not a JSON object";
  for (const char* name : {"type", "title", "detail", "instance", "code", "request_id"}) {
    if (!reply.json[name].isString()) return std::string(name) + " is missing";
  }
  if (!reply.json["retryable"].isBool()) return "retryable is missing";
  if (!reply.json["status"].isInt() || reply.json["status"].asInt() != status) {
    return "the status in the body differs";
  }
  if (reply.json["request_id"].asString() != reply.header("x-request-id")) {
    return "request_id is not X-Request-Id, '" + reply.header("x-request-id") + "'";
  }
  for (const Json::Value& error : reply.json["errors"]) {
    for (const char* name : {"pointer", "code", "detail"}) {
      if (!error[name].isString()) return std::string("an error lacks its ") + name;
    }
  }
  if (!code.empty() && reply.code() != code) return "the code is not " + code;
  return {};
}

}  // namespace

testing::AssertionResult isProblem(const Reply& reply, int status, const std::string& code) {
  const std::string wrong = whatIsWrong(reply, status, code);
  if (wrong.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << wrong << " in " << reply;
}

std::set<std::string> pointers(const Reply& reply) {
  std::set<std::string> found;
  if (!reply.json.isObject()) return found;
  for (const Json::Value& error : reply.json["errors"]) found.insert(error["pointer"].asString());
  return found;
}

}  // namespace muster::test
