#include "models/policy/grants.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

Grants grantsOf(const std::vector<std::string>& texts) {
  Grants grants;
  for (const std::string& text : texts) grants.push_back(parseGrant(text).value());
  return grants;
}

TEST(Grant, is_written_as_it_is_read) {
  for (const char* text : {"read", "produce", "work", "admin", "produce:emails", "admin:team.*",
                           "work:a:b", "read:gpu*"}) {
    const auto grant = parseGrant(text);
    ASSERT_TRUE(grant) << text;
    EXPECT_EQ(grantText(*grant), text);
  }
}

TEST(Grant, is_refused_where_scope_or_pool_is_none) {
  for (const char* text : {"", "write", "READ", "read:", "read:*", "read:a b", "read:**",
                           "read:a*b", ":emails", "read,work", "read :a"}) {
    EXPECT_FALSE(parseGrant(text)) << text;
  }
}

TEST(Grants, permit_by_scope_and_pool) {
  struct Case {
    const char* what;
    std::vector<std::string> grants;
    Scope scope;
    std::string pool;
    bool in, everywhere, somewhere;
  };
  const Case cases[] = {
      {"nothing is given", {}, Scope::kRead, "a", false, false, false},
      {"the scope alone", {"read"}, Scope::kRead, "a", true, true, true},
      {"another scope", {"read"}, Scope::kWork, "a", false, false, false},
      {"admin is all", {"admin"}, Scope::kWork, "a", true, true, true},
      {"all is not admin", {"read", "produce", "work"}, Scope::kAdmin, "a", false, false, false},
      {"the pool", {"work:a"}, Scope::kWork, "a", true, false, true},
      {"another pool", {"work:a"}, Scope::kWork, "b", false, false, true},
      {"a longer name", {"work:a"}, Scope::kWork, "ab", false, false, true},
      {"the beginning", {"work:team.*"}, Scope::kWork, "team.b", true, false, true},
      {"the beginning alone", {"work:team.*"}, Scope::kWork, "team.", true, false, true},
      {"less than the beginning", {"work:team.*"}, Scope::kWork, "team", false, false, true},
      {"no pool", {"work:team.*"}, Scope::kWork, "", false, false, true},
      {"no pool, unbound", {"work"}, Scope::kWork, "", true, true, true},
      {"admin of a pool", {"admin:a"}, Scope::kProduce, "a", true, false, true},
      {"admin of another", {"admin:b", "read:a"}, Scope::kProduce, "a", false, false, true},
      {"one of several", {"read:b", "read:a"}, Scope::kRead, "a", true, false, true},
  };
  for (const Case& c : cases) {
    const Grants grants = grantsOf(c.grants);
    EXPECT_EQ(permitsIn(grants, c.scope, c.pool), c.in) << c.what;
    EXPECT_EQ(permitsEverywhere(grants, c.scope), c.everywhere) << c.what;
    EXPECT_EQ(permitsSomewhere(grants, c.scope), c.somewhere) << c.what;
  }
}

}  // namespace
}  // namespace muster
