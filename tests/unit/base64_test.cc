#include "models/base64.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Base64, turnsBytesIntoTextAndBack) {
  const std::pair<std::string, std::string> table[] = {// RFC 4648
                                                       {"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {"\xff\xef", "/+8="}};
  for (const auto& [bytes, text] : table) {
    EXPECT_EQ(encodeBase64(bytes), text);
    EXPECT_EQ(decodeBase64(text), bytes);
  }
  EXPECT_EQ(decodeBase64("Zm8"), "fo") << "without padding";
  EXPECT_EQ(decodeBase64("_-8"), "\xff\xef") << "for URLs";
  for (const char* text : {"Z", "Zm9vY", "Zm 9", "Zm9v!", "Z==="}) {
    EXPECT_FALSE(decodeBase64(text)) << text;
  }
}

}  // namespace
}  // namespace muster
