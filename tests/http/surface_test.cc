#include <set>
#include <sstream>
#include <vector>

#include "tests/support/eventually.h"
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

using Surface = ServiceFixture;

TEST_F(Surface, health_and_readiness) {
  const Reply health = http_.get("/healthz");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.json["status"], "ok");
  const Reply ready = http_.get("/readyz");
  EXPECT_EQ(ready.status, 200);
  EXPECT_EQ(ready.json["status"], "ready");
  EXPECT_EQ(ready.json["store"], "ok");
}

TEST_F(Surface, the_version) {
  const Reply reply = http_.get("/version");
  EXPECT_EQ(reply.json["name"], "muster") << reply;
  EXPECT_TRUE(reply.json["version"].isString());
  EXPECT_EQ(reply.json["api"], "v1");
}

TEST_F(Surface, the_documentation_page) {
  const Reply reply = http_.get("/docs");
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.header("content-type").starts_with("text/html")) << reply;
  EXPECT_NE(reply.body.find("Muster"), std::string::npos);
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// The path with something in place of its parameters that names nothing.
std::string concrete(std::string path) {
  for (std::size_t open = path.find('{'); open != std::string::npos; open = path.find('{')) {
    path.replace(open, path.find('}') - open + 1, "no-such-thing");
  }
  return path;
}

TEST_F(Surface, every_operation_of_the_contract_is_served_and_no_other) {
  const Reply contract = http_.get("/openapi.json");
  ASSERT_EQ(contract.json["openapi"], "3.0.3") << contract;
  const Json::Value& paths = contract.json["paths"];
  ASSERT_GT(paths.size(), 30U);
  for (const std::string& path : paths.getMemberNames()) {
    if (path == "/v1/events/stream") continue;
    for (const char* method : {"get", "put", "post", "patch", "delete"}) {
      const bool declared = paths[path].isMember(method);
      const Reply reply = http_.send({upper(method), concrete(path), "[]"});
      if (declared) {
        EXPECT_NE(reply.status, 405) << method << " " << path;
        EXPECT_LT(reply.status, 500) << method << " " << path << " " << reply;
        const bool may_be_unknown = path.find('{') != std::string::npos;
        EXPECT_TRUE(reply.status != 404 || may_be_unknown) << method << " " << path;
      } else {
        EXPECT_TRUE(isProblem(reply, 405)) << method << " " << path;
        for (const std::string& allowed : paths[path].getMemberNames()) {
          EXPECT_NE(reply.header("allow").find(upper(allowed)), std::string::npos)
              << allowed << " " << path << " Allow: " << reply.header("allow");
        }
        EXPECT_EQ(reply.header("allow").find(upper(method)), std::string::npos) << path;
      }
    }
  }
}

// What `$ref` refers to, or `node` itself.
const Json::Value& resolved(const Json::Value& contract, const Json::Value& node) {
  const std::string ref = node.isObject() ? node["$ref"].asString() : "";
  const std::size_t last = ref.rfind('/');
  if (last == std::string::npos) return node;
  const std::size_t kind = ref.rfind('/', last - 1) + 1;
  return contract["components"][ref.substr(kind, last - kind)][ref.substr(last + 1)];
}

std::string compact(const Json::Value& value) {
  Json::StreamWriterBuilder builder;
  builder["indentation"] = "";
  return Json::writeString(builder, value);
}

// A body with `null` at one optional field, and the same body without that field.
struct NullAt {
  Json::Value with, without;
};

// One for each optional field of `schema` and of the objects in it, on top of `base`.
std::vector<NullAt> withNulls(const Json::Value& contract, const Json::Value& schema,
                              const Json::Value& base, int depth = 0) {
  std::vector<NullAt> out;
  const Json::Value& type = resolved(contract, schema);
  if (depth > 4) return out;  // schemas may hold themselves
  std::set<std::string> required;
  for (const Json::Value& name : type["required"]) required.insert(name.asString());
  for (const std::string& name : type["properties"].getMemberNames()) {
    const Json::Value body = base.isObject() ? base : Json::Value(Json::objectValue);
    if (!required.contains(name)) {
      out.push_back({body, body});
      out.back().with[name] = Json::Value();
      out.back().without.removeMember(name);
    }
    const Json::Value& inner = resolved(contract, type["properties"][name]);
    const bool is_list = inner["type"] == "array";
    const Json::Value& object = is_list ? resolved(contract, inner["items"]) : inner;
    const Json::Value& known = is_list ? body[name][0U] : body[name];
    for (const NullAt& each : withNulls(contract, object, known, depth + 1)) {
      out.push_back({body, body});
      for (auto [all, part] : {std::pair(&out.back().with, &each.with),
                               std::pair(&out.back().without, &each.without)}) {
        (*all)[name] = Json::Value();
        (is_list ? (*all)[name][0U] : (*all)[name]) = *part;
      }
    }
  }
  return out;
}

TEST_F(Surface, a_body_that_may_be_left_out_may_be_null) {
  const Json::Value contract = http_.get("/openapi.json").json;
  int operations = 0;
  for (const std::string& path : contract["paths"].getMemberNames()) {
    for (const char* method : {"post", "put", "patch"}) {
      const Json::Value& operation = contract["paths"][path][method];
      if (!operation.isObject() || operation["requestBody"]["required"].asBool()) continue;
      ++operations;
      const Reply reply = http_.send({upper(method), concrete(path), "null"});
      EXPECT_NE(reply.status, 400) << method << " " << path << reply;
      EXPECT_FALSE(reply.status == 422 && pointers(reply).contains("")) << path << reply;
    }
  }
  EXPECT_GE(operations, 18);
}

TEST_F(Surface, null_in_place_of_an_optional_field_is_as_if_it_were_absent) {
  const Json::Value contract = http_.get("/openapi.json").json;
  int fields = 0;
  for (const std::string& path : contract["paths"].getMemberNames()) {
    for (const char* method : {"post", "put", "patch"}) {
      const Json::Value& media =
          contract["paths"][path][method]["requestBody"]["content"]["application/json"];
      if (!media.isObject()) continue;
      std::vector<NullAt> bodies = withNulls(contract, media["schema"], Json::Value());
      for (const std::string& name : media["examples"].getMemberNames()) {
        Json::Value example = resolved(contract, media["examples"][name])["value"];
        if (example.isMember("wait_seconds")) example["wait_seconds"] = 0;
        for (NullAt& each : withNulls(contract, media["schema"], example)) bodies.push_back(each);
      }
      for (const NullAt& each : bodies) {
        ++fields;
        const Reply with = http_.send({upper(method), concrete(path), compact(each.with)});
        const Reply without = http_.send({upper(method), concrete(path), compact(each.without)});
        EXPECT_EQ(pointers(with), pointers(without))
            << method << " " << path << " " << compact(each.with) << " " << with;
      }
    }
  }
  EXPECT_GT(fields, 150);
}

bool isMetricName(std::string_view name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

// Whether `labels` is a list such as `a="x",b="y"`, in which quotes are escaped.
bool areLabels(std::string_view labels) {
  while (true) {
    const std::size_t equals = labels.find("=\"");
    if (equals == std::string_view::npos || !isMetricName(labels.substr(0, equals))) return false;
    labels.remove_prefix(equals + 2);
    std::size_t end = 0;
    while (end < labels.size() && labels[end] != '"') end += labels[end] == '\\' ? 2U : 1U;
    if (end >= labels.size()) return false;
    labels.remove_prefix(end + 1);
    if (labels.empty()) return true;
    if (labels.front() != ',') return false;
    labels.remove_prefix(1);
  }
}

// Whether `line` is a sample: name{labels} value.
bool isSample(const std::string& line) {
  const std::size_t space = line.rfind(' ');
  if (space == std::string::npos || space + 1 == line.size()) return false;
  const std::string_view series = std::string_view(line).substr(0, space);
  const std::size_t brace = series.find('{');
  if (brace != std::string_view::npos &&
      (series.back() != '}' || !areLabels(series.substr(brace + 1, series.size() - brace - 2)))) {
    return false;
  }
  char* end = nullptr;
  std::strtod(line.c_str() + space + 1, &end);
  return *end == '\0' && isMetricName(series.substr(0, brace));
}

class Metrics : public ServiceFixture {
 protected:
  // The value of a sample such as `muster_x{pool="p"}`, or -1.
  double sample(const std::string& series) {
    std::istringstream lines(http_.get("/metrics").body);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(series + " ")) return std::stod(line.substr(series.size() + 1));
    }
    return -1;
  }
};

TEST_F(Metrics, are_in_the_text_format) {
  pool_.push();
  pool_.claimOne();
  const Reply reply = http_.get("/metrics");
  ASSERT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.header("content-type").starts_with("text/plain")) << reply;
  std::set<std::string> typed;
  std::set<std::string> series;
  std::istringstream lines(reply.body);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("# HELP ") || line.starts_with("# TYPE ") || isSample(line))
        << line;
    if (line.starts_with("# TYPE ")) {
      const std::string metric = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(typed.insert(metric).second) << metric << " has two types";
      EXPECT_TRUE(metric.starts_with("muster_") || metric.starts_with("process_")) << metric;
    } else if (!line.starts_with("#")) {
      EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << "twice: " << line;
    }
  }
  EXPECT_TRUE(reply.body.ends_with("\n"));
  for (const char* metric : {"muster_build_info",
                             "muster_pool_jobs",
                             "muster_pool_oldest_pending_seconds",
                             "muster_jobs_added_total",
                             "muster_jobs_claimed_total",
                             "muster_jobs_finished_total",
                             "muster_job_wait_seconds",
                             "muster_job_run_seconds",
                             "muster_leases_expired_total",
                             "muster_late_reports_total",
                             "muster_workers",
                             "muster_reaper_workers_total",
                             "muster_worker_launches_total",
                             "muster_worker_exits_total",
                             "muster_worker_startup_seconds",
                             "muster_checker_duration_seconds",
                             "muster_checker_runs_total",
                             "muster_pool_workers_min",
                             "muster_pool_workers_max",
                             "muster_pool_workers_desired",
                             "muster_http_requests_total",
                             "muster_http_request_duration_seconds",
                             "muster_store_commit_seconds",
                             "muster_store_batch_size"}) {
    EXPECT_TRUE(typed.contains(metric)) << metric;
  }
}

TEST_F(Metrics, count_what_happens_to_jobs) {
  const std::string of_pool = "{pool=\"" + pool_.name() + "\"}";
  pool_.pushMany(3);
  ASSERT_EQ(pool_.report("complete", pool_.claimOne()).status, 200);
  // Counted a moment after the answer.
  const std::string done =
      "muster_jobs_finished_total{pool=\"" + pool_.name() + "\",outcome=\"done\"}";
  EXPECT_TRUE(eventually(kPatience, [&] { return sample(done) == 1; }));
  EXPECT_EQ(sample("muster_jobs_added_total" + of_pool), 3);
  EXPECT_EQ(sample("muster_jobs_claimed_total" + of_pool), 1);
  EXPECT_EQ(sample("muster_pool_jobs{pool=\"" + pool_.name() + "\",status=\"pending\"}"), 2);
  EXPECT_EQ(sample("muster_pool_jobs{pool=\"" + pool_.name() + "\",status=\"done\"}"), 1);
}

TEST_F(Metrics, never_name_jobs_or_workers) {
  const Json::Value job = pool_.push();
  pool_.registerWorker(name("wx"));
  pool_.claimOne(name("wx"));
  pool_.job(job);
  const Reply reply = http_.get("/metrics");
  EXPECT_EQ(reply.body.find(job["id"].asString()), std::string::npos);
  EXPECT_EQ(reply.body.find(name("wx")), std::string::npos);
}

TEST_F(Metrics, routes_are_templates_whatever_the_path) {
  http_.get("/no/such/path/at/all");
  http_.get("/v1/jobs/some-job-id");
  const Reply reply = http_.get("/metrics");
  EXPECT_EQ(reply.body.find("/no/such/path"), std::string::npos);
  EXPECT_EQ(reply.body.find("some-job-id"), std::string::npos);
}

}  // namespace
}  // namespace muster::test
