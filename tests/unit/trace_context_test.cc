#include "models/trace_context.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

const std::string kIds = "-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-";
const std::string kGood = "00" + kIds + "01";

TEST(Traceparent, is_taken_only_if_it_is_valid) {
  struct Case {
    std::string header, taken, why;
  };
  const Case cases[] = {
      {kGood, kGood, "as in the specification"},
      {"00" + kIds + "00", "00" + kIds + "00", "not sampled"},
      {"00" + kIds + "ff", "00" + kIds + "ff", "any flags"},
      {"", "", "absent"},
      {kGood.substr(0, 54), "", "too short"},
      {kGood + "-x", "", "version 00 has no more parts"},
      {kGood + " ", "", "trailing space"},
      {"cc" + kIds + "01", kGood, "a later version"},
      {"cc" + kIds + "03", kGood, "of its flags only one is known"},
      {"cc" + kIds + "0a", "00" + kIds + "00", "it is not set"},
      {"cc" + kIds + "01-what-comes", kGood, "a later version may have more parts"},
      {"cc" + kIds + "01what-comes", "", "they begin with a dash"},
      {"ff" + kIds + "01", "", "a version that is forbidden"},
      {"0x" + kIds + "01", "", "a version that is no number"},
      {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", "", "upper case"},
      {"00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01", "", "no hexadecimal digit"},
      {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "", "no trace"},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", "", "no parent"},
      {"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "", "no dash"},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-\xff\xff", "", "no text"},
      {std::string(55, '-'), "", "only dashes"}};
  for (const Case& c : cases) EXPECT_EQ(readTraceparent(c.header), c.taken) << c.why;
}

}  // namespace
}  // namespace muster
