// Who may do what with resources: scopes, tokens for some pools, tokens of workers, signed
// addresses.
#include "tests/support/resource_client.h"
#include "tests/support/service_fixture.h"
#include "tests/support/tokens.h"

namespace muster::test {
namespace {

class ResourceAccess : public testing::Test {
 protected:
  static Service& service() {
    static Service made(
        {.store = anyStore(),
         .settings = "tokens:\n" + tokenLine("all", "admin") + tokenLine("reader", "read") +
                     tokenLine("producer", "produce") + tokenLine("worker", "work") +
                     tokenLine("mine", "'read:team.*', 'produce:team.*', 'work:team.*'")});
    return made;
  }
  static std::string id(const std::string& suffix) {
    return std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "." +
           suffix;
  }
  Reply create(const std::string& suffix, const Headers& who, const std::string& more = {}) {
    return ResourceClient(http_, who)
        .tryCreate(R"("resource_id":")" + id(suffix) + R"(","type":"file")" +
                   (more.empty() ? "" : "," + more));
  }
  ResourceClient as(const std::string& token) { return ResourceClient(http_, bearer(token)); }
  void stored(const std::string& suffix, const std::string& bytes) {
    as("all").createStored(id(suffix), bytes);
  }
  // The token of a worker that is registered for this.
  Headers enrolled(const std::string& worker, const std::string& pool) {
    const Reply reply =
        http_.post("/v1/workers",
                   R"({"worker_id":)" + inQuotes(worker) + R"(,"pool_id":)" + inQuotes(pool) + "}",
                   bearer("worker"));
    EXPECT_EQ(reply.status, 201) << reply;
    return bearer(reply.json["worker_token"].asString());
  }
  std::string signedPath(const std::string& suffix, const std::string& body = {}) {
    const Reply reply = as("producer").act(id(suffix), "sign", body);
    EXPECT_EQ(reply.status, 200) << reply;
    const std::string url = reply.json["url"].asString();
    return url.substr(url.find("/v1/"));
  }

  Http http_{service().url()};
};

TEST_F(ResourceAccess, is_by_scope) {
  stored("a", "abc");
  struct Row {
    std::string what;
    std::function<Reply(const Headers&)> call;
    std::vector<std::string> allowed;
  };
  const auto with = [](Headers who, const std::string& name, const std::string& value) {
    who.emplace_back(name, value);
    return who;
  };
  const std::string path = resourcePath(id("a"));
  int made = 0;
  const std::vector<Row> rows = {
      {"list",
       [&](const Headers& who) { return http_.get("/v1/resources", who); },
       {"reader", "worker"}},
      {"get", [&](const Headers& who) { return http_.get(path, who); }, {"reader", "worker"}},
      {"content",
       [&](const Headers& who) { return http_.get(path + "/content", who); },
       {"reader", "worker"}},
      {"create",
       [&](const Headers& who) { return create(std::to_string(++made), who); },
       {"producer", "worker"}},
      {"put",
       [&](const Headers& who) { return http_.put(path + "/content", "abc", who); },
       {"producer", "worker"}},
      {"patch",
       [&](const Headers& who) {
         return http_.patch(path + "/content", "abc", with(who, "Upload-Offset", "0"));
       },
       {"producer", "worker"}},
      {"sign",
       [&](const Headers& who) { return http_.post(path + "/sign", "", who); },
       {"producer", "worker"}},
      {"lease",
       [&](const Headers& who) { return http_.post(path + "/lease", "", who); },
       {"worker"}},
      {"release",
       [&](const Headers& who) {
         return http_.post(path + "/release", R"({"lease_id":"x"})", who);
       },
       {"worker"}},
      {"touch",
       [&](const Headers& who) { return http_.post(path + "/touch", "", who); },
       {"worker"}},
      {"scope", [&](const Headers& who) { return http_.del("/v1/scopes/run/resources", who); }, {}},
      {"job scope",
       [&](const Headers& who) { return http_.del("/v1/scopes/job%3Ax/resources", who); },
       {"worker"}},
      {"delete",
       [&](const Headers& who) { return http_.del(resourcePath(id("d")), who); },
       {"producer", "worker"}},
  };
  stored("d", "abc");
  for (const Row& row : rows) {
    EXPECT_TRUE(isProblem(row.call({}), 401, "unauthorized")) << row.what;
    EXPECT_TRUE(isProblem(row.call(bearer("mine")), 403, "forbidden")) << row.what;
    EXPECT_TRUE(row.call(bearer("all")).ok()) << row.what;
    for (const std::string who : {"reader", "producer", "worker"}) {
      const bool may = std::find(row.allowed.begin(), row.allowed.end(), who) != row.allowed.end();
      const Reply reply = row.call(bearer(who));
      if (may) {
        EXPECT_TRUE(reply.ok()) << row.what << " as " << who << ": " << reply;
      } else {
        EXPECT_TRUE(isProblem(reply, 403, "forbidden")) << row.what << " as " << who;
      }
    }
  }
}

TEST_F(ResourceAccess, with_force_is_for_admins) {
  stored("a", "abc");
  EXPECT_TRUE(isProblem(as("producer").remove(id("a"), "?force=true"), 403, "forbidden"));
  EXPECT_EQ(as("all").remove(id("a"), "?force=true").json["state"], "evicted");
}

TEST_F(ResourceAccess, of_a_worker_is_to_what_it_made_and_not_more) {
  stored("theirs", "abc");
  const Headers own = enrolled(id("w1"), "p");
  const Headers other = enrolled(id("w2"), "p");
  EXPECT_EQ(create("own", own).status, 201);
  ResourceClient mine(http_, own), others(http_, other);
  EXPECT_EQ(mine.put(id("own"), "xyz").status, 200);
  EXPECT_EQ(mine.content(id("own")).body, "xyz");
  EXPECT_TRUE(isProblem(mine.content(id("theirs")), 404, "not_found"));
  EXPECT_TRUE(isProblem(mine.get(id("theirs")), 404, "not_found"));
  EXPECT_TRUE(isProblem(mine.act(id("theirs"), "sign"), 404, "not_found"));
  EXPECT_TRUE(isProblem(mine.remove(id("theirs")), 404, "not_found"));
  EXPECT_TRUE(isProblem(others.content(id("own")), 404, "not_found"));
  EXPECT_TRUE(isProblem(others.put(id("own"), "abc"), 404, "not_found"));
  const Reply list = http_.get("/v1/resources", other);
  EXPECT_EQ(list.status, 200) << list;
  EXPECT_EQ(list.json["items"].size(), 0U) << list;
  EXPECT_TRUE(isProblem(mine.act(id("own"), "lease", R"({"worker_id":)" + inQuotes(id("w2")) + "}"),
                        403, "forbidden"));
}

TEST_F(ResourceAccess, of_a_worker_ends_with_its_registration) {
  const Headers before = enrolled(id("w"), "p");
  EXPECT_EQ(create("a", before).status, 201);
  EXPECT_EQ(http_.post("/v1/workers/" + id("w") + "/terminate", "", bearer("all")).status, 200);
  enrolled(id("w"), "p");
  const Reply reply = create("b", before);
  EXPECT_FALSE(reply.ok()) << reply;
}

TEST_F(ResourceAccess, by_a_signed_address_needs_no_token) {
  stored("a", "0123456789");
  const std::string path = signedPath("a");
  EXPECT_EQ(http_.get(path).body, "0123456789");
  EXPECT_EQ(http_.get(path, {{"Range", "bytes=2-3"}}).body, "23");
  EXPECT_EQ(http_.get(path, bearer("mine")).status, 200) << "nor does one do harm";
  EXPECT_EQ(http_.send({"HEAD", path}).status, 200);
  EXPECT_TRUE(isProblem(http_.put(path, "x"), 401, "unauthorized")) << "it is for reading";
  EXPECT_TRUE(isProblem(http_.get(contentPath(id("a"))), 401, "unauthorized"));
}

TEST_F(ResourceAccess, by_a_changed_address_is_refused) {
  stored("a", "abc");
  stored("b", "xyz");
  const std::string path = signedPath("a"), of_b = signedPath("b");
  const auto replaced = [&path](const std::string& part, const std::string& by) {
    std::string text = path;
    return text.replace(text.find(part), part.size(), by);
  };
  const std::string query = path.substr(path.find('?'));
  const std::vector<std::string> changed = {
      path.substr(0, path.size() - 1) + (path.back() == '0' ? "1" : "0"),
      replaced("expires=", "expires=9"),
      of_b.substr(0, of_b.find('?')) + query,
      contentPath(id("a")) + query,
      path.substr(0, path.find('?')) + "?signature=",
      path.substr(0, path.find('?')) + "?expires=1&signature=abc",
      path.substr(0, path.find('?')) + "?signature=" + std::string(64, 'a'),
  };
  for (const std::string& address : changed) {
    const Reply reply = http_.get(address);
    EXPECT_TRUE(reply.status == 403 || reply.status == 400) << address << " " << reply;
  }
  EXPECT_TRUE(isProblem(http_.get(changed[0]), 403, "bad_signature"));
  EXPECT_TRUE(isProblem(http_.get(changed[2]), 403, "bad_signature"));
}

TEST_F(ResourceAccess, by_an_address_ends_with_its_time_and_its_resource) {
  stored("a", "abc");
  const std::string brief = signedPath("a", R"({"expires_seconds":1})");
  EXPECT_TRUE(eventually(kPatience, [&] { return http_.get(brief).status == 403; }));
  const std::string path = signedPath("a");
  as("producer").remove(id("a"));
  EXPECT_TRUE(isProblem(http_.get(path), 410, "resource_evicted"));
  EXPECT_TRUE(isProblem(as("producer").act(id("a"), "sign"), 410, "resource_evicted"));
}

TEST_F(ResourceAccess, by_an_address_is_for_a_day_at_most) {
  stored("a", "abc");
  for (const std::string seconds : {"0", "86401", "1.5"}) {
    EXPECT_TRUE(
        isProblem(as("producer").act(id("a"), "sign", R"({"expires_seconds":)" + seconds + "}"),
                  422, "validation_failed"))
        << seconds;
  }
  create("uploading", bearer("producer"));
  EXPECT_TRUE(isProblem(as("producer").act(id("uploading"), "sign"), 409, "not_stored"));
}

}  // namespace
}  // namespace muster::test
