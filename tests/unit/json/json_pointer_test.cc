#include "models/json/json_pointer.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(JsonPointer, leadsToAValue) {
  const std::string text = R"({"a":{"b":[1,{"c":"x"}]},"":2,"m~n/o":3,"d":1,"d":4,"0":5})";
  const auto doc = JsonDoc::parse(text);
  ASSERT_TRUE(doc);
  const std::pair<const char*, const char*> table[] = {
      {"", text.c_str()}, {"/a/b/0", "1"}, {"/a/b/1/c", "\"x\""}, {"/", "2"}, {"/m~0n~1o", "3"},
      {"/d", "4"},        {"/0", "5"}};
  for (const auto& [pointer, value] : table) {
    const auto found = valueAt(doc->root(), pointer);
    ASSERT_TRUE(found) << pointer;
    EXPECT_EQ(found->raw(), value) << pointer;
  }
  for (const char* pointer : {"/x", "/a/b/2", "/a/b/-", "/a/b/1x", "/a/b/", "/d/e", "/a/b/0/0"}) {
    EXPECT_FALSE(valueAt(doc->root(), pointer)) << pointer;
  }
}

}  // namespace
}  // namespace muster
