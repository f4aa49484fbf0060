#include "tests/support/resource_client.h"

#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <random>

#include "models/base64.h"
#include "models/store/random.h"

namespace muster::test {

std::string pathText(const std::string& text) {
  static constexpr std::array<char, 17> kDigits{"0123456789ABCDEF"};
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

std::string resourcePath(const std::string& id, const std::string& tail) {
  return "/v1/resources/" + pathText(id) + tail;
}
std::string contentPath(const std::string& id) { return resourcePath(id, "/content"); }

Headers digestOf(const std::string& bytes) {
  const std::string hex = muster::sha256Hex(bytes);
  std::string sum;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    sum += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return {{"Content-Digest", "sha-256=:" + encodeBase64(sum) + ":"}};
}

std::string noise(std::size_t size, unsigned seed) {
  std::minstd_rand random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random() >> 8);
  return bytes;
}

Headers ResourceClient::with(Headers headers) const {
  headers.insert(headers.end(), who_.begin(), who_.end());
  return headers;
}

Reply ResourceClient::tryCreate(const std::string& fields) {
  return http_.post("/v1/resources", "{" + fields + "}", who_);
}

Json::Value ResourceClient::create(const std::string& fields) {
  const Reply reply = tryCreate(fields);
  EXPECT_EQ(reply.status, 201) << reply;
  return reply.json;
}

Json::Value ResourceClient::createStored(const std::string& id, const std::string& bytes,
                                         const std::string& fields) {
  create(R"("resource_id":")" + id + R"(","type":"file")" + (fields.empty() ? "" : "," + fields));
  const Reply reply = put(id, bytes);
  EXPECT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["state"], "active") << reply;
  return reply.json;
}

std::vector<Json::Value> ResourceClient::all(const std::string& query) {
  std::vector<Json::Value> found;
  std::string cursor;
  do {
    const Reply page = http_.get("/v1/resources?limit=200" + (query.empty() ? "" : "&" + query) +
                                     (cursor.empty() ? "" : "&cursor=" + cursor),
                                 who_);
    EXPECT_EQ(page.status, 200) << page;
    for (const Json::Value& item : page.json["items"]) found.push_back(item);
    cursor = page.json["next_cursor"].asString();
  } while (!cursor.empty());
  return found;
}

Reply ResourceClient::remove(const std::string& id, const std::string& query) {
  return http_.del(resourcePath(id) + query, who_);
}
Reply ResourceClient::act(const std::string& id, const std::string& verb, const std::string& body) {
  return http_.post(resourcePath(id, "/" + verb), body, who_);
}
Reply ResourceClient::put(const std::string& id, const std::string& bytes, Headers headers) {
  return http_.put(contentPath(id), bytes, with(std::move(headers)));
}
Reply ResourceClient::patch(const std::string& id, std::int64_t offset, const std::string& bytes,
                            Headers headers) {
  headers.emplace_back("Upload-Offset", std::to_string(offset));
  return http_.patch(contentPath(id), bytes, with(std::move(headers)));
}
Reply ResourceClient::content(const std::string& id, Headers headers) {
  return http_.get(contentPath(id), with(std::move(headers)));
}

}  // namespace muster::test
