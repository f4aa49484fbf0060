#include "models/json/problem_json.h"

#include <gtest/gtest.h>

#include "models/json/json_doc.h"
#include "models/json/json_reader.h"

namespace muster {
namespace {

struct Listed {
  std::size_t count = 0;
  std::string last;  // its detail
};

Listed listed(std::size_t faults) {
  Error error{ErrorCode::kInvalid, "wrong"};
  for (std::size_t i = 0; i < faults; ++i) addFault(error.fields, {"/a", "type", "is wrong"});
  const std::string text = writeProblem(error, "/v1", "r");
  const auto doc = JsonDoc::parse(text);
  Listed found;
  for (auto it = doc->root().begin(); it != doc->root().end(); ++it) {
    if (it.key() != "errors") continue;
    for (auto item = (*it).begin(); item != (*it).end(); ++item, ++found.count) {
      for (auto field = (*item).begin(); field != (*item).end(); ++field) {
        if (field.key() == "detail") found.last = *(*field).string();
      }
    }
  }
  return found;
}

TEST(Problem, lists_a_hundred_errors_and_says_how_many_more_there_are) {
  struct Case {
    std::size_t faults, listed;
    std::string last;
  };
  const Case cases[] = {{1, 1, "is wrong"},
                        {100, 100, "is wrong"},
                        {101, 101, "1 more are not listed"},
                        {999, 101, "899 more are not listed"},
                        {5000, 101, "at least 900 more are not listed"}};
  for (const Case& c : cases) {
    EXPECT_EQ(listed(c.faults).count, c.listed) << c.faults;
    EXPECT_EQ(listed(c.faults).last, c.last) << c.faults;
  }
}

TEST(Problem, is_text_whatever_it_speaks_of) {
  const std::string text = writeProblem(
      {ErrorCode::kNotFound, "no \xff", {{"\xc3", "unknown", "\xed\xa0\x80"}}}, "/\x80", "r");
  EXPECT_TRUE(JsonDoc::parse(text)) << text;
}

}  // namespace
}  // namespace muster
