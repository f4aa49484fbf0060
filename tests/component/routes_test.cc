#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <set>
#include <string>

#include "app/config/settings.h"
#include "app/log/log.h"
#include "app/server/openapi_json.h"
#include "app/server/service.h"
#include "models/clock.h"
#include "models/embedded_file.h"
#include "models/json/json_doc.h"

namespace muster {
namespace {

using Operations = std::set<std::string>;  // "GET /v1/pools"

Operations documented() {
  Operations operations;
  const YAML::Node paths = YAML::Load(std::string(kOpenapiYaml.front().content))["paths"];
  for (const auto& path : paths) {
    for (const auto& entry : path.second) {
      std::string method = entry.first.as<std::string>();
      if (method == "parameters") continue;
      for (char& c : method) c = static_cast<char>(std::toupper(c));
      operations.insert(method + " " + path.first.as<std::string>());
    }
  }
  return operations;
}

// The handshake of a hook: generators of clients stop at OPTIONS, so docs/triggers.md describes it.
const Operations kOutsideOfTheDescription = {"OPTIONS /v1/hooks/{name}"};

TEST(Routes, are_the_paths_of_the_api_description_both_ways) {
  Settings settings;
  settings.store = "memory:";
  const FakeClock clock;
  const Log log(clock, LogLevel::kError);
  auto service = Service::open(settings, log, clock);
  ASSERT_TRUE(service) << service.error();
  Operations served;
  for (const auto& route : (*service)->router().routes()) {
    served.insert(route->method + " " + route->pattern);
  }
  Operations expected = documented();
  for (const std::string& operation : kOutsideOfTheDescription) {
    EXPECT_TRUE(expected.insert(operation).second) << operation << " is described after all";
  }
  EXPECT_EQ(served, expected);
  EXPECT_GT(served.size(), 40U);
}

TEST(OpenapiJson, keeps_the_types_of_yaml) {
  EXPECT_EQ(yamlToJson("{a: 1, b: '1', c: true, d: \"true\", e: null, f: 1.5, g: x y, h: [0, -2]}"),
            R"({"a":1,"b":"1","c":true,"d":"true","e":null,"f":1.5,"g":"x y","h":[0,-2]})");
}

TEST(OpenapiJson, of_our_own_description_is_valid_json) {
  const std::string json = yamlToJson(kOpenapiYaml.front().content);
  EXPECT_TRUE(JsonDoc::parse(json));
}

}  // namespace
}  // namespace muster
