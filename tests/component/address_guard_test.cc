#include "app/http/address_guard.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

namespace muster {
namespace {

struct Address {
  sockaddr_storage storage{};
  const sockaddr& get() const { return reinterpret_cast<const sockaddr&>(storage); }
};

Address address(const std::string& text) {
  Address made;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&made.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&made.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr), 1) << text;
    v6->sin6_family = AF_INET6;
  }
  return made;
}

TEST(AddressGuard, knowsPrivateAddresses) {
  for (const char* text : {"0.0.0.0",
                           "10.1.2.3",
                           "100.64.0.1",
                           "127.0.0.1",
                           "127.255.0.1",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.168.1.1",
                           "198.18.0.1",
                           "224.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "fe80::1",
                           "fc00::1",
                           "fd12::1",
                           "ff02::1",
                           "::ffff:127.0.0.1",
                           "::ffff:10.0.0.1",
                           "64:ff9b::a00:1",
                           "2002:a00:1::"}) {
    EXPECT_TRUE(isPrivateAddress(address(text).get())) << text;
  }
  for (const char* text : {"8.8.8.8", "100.128.0.1", "172.32.0.1", "192.169.0.1", "1.1.1.1",
                           "2606:4700::1111", "2002:808:808::"}) {
    EXPECT_FALSE(isPrivateAddress(address(text).get())) << text;
  }
  Address none;
  none.storage.ss_family = AF_UNIX;
  EXPECT_TRUE(isPrivateAddress(none.get()));
}

TEST(AddressGuard, allowsWhatIsOnItsList) {
  struct Row {
    std::vector<std::string> list;
    std::string host, address;
    bool allowed;
  };
  const std::vector<Row> rows = {
      {{}, "example.org", "8.8.8.8", true},
      {{}, "example.org", "10.0.0.1", false},
      {{"10.0.0.0/8"}, "example.org", "10.255.0.1", true},
      {{"10.0.0.0/8"}, "example.org", "11.0.0.1", true},
      {{"10.0.0.0/8"}, "example.org", "127.0.0.1", false},
      {{"10.0.0.0/8"}, "example.org", "::ffff:10.1.1.1", true},
      {{"10.1.2.3"}, "example.org", "10.1.2.3", true},
      {{"10.1.2.3"}, "example.org", "10.1.2.4", false},
      {{"172.16.0.0/12"}, "a", "172.31.0.1", true},
      {{"192.168.1.128/25"}, "a", "192.168.1.127", false},
      {{"192.168.1.128/25"}, "a", "192.168.1.129", true},
      {{"0.0.0.0/0"}, "a", "127.0.0.1", true},
      {{"0.0.0.0/0"}, "a", "::1", false},
      {{"::1"}, "a", "::1", true},
      {{"fd00::/8"}, "a", "fd12::1", true},
      {{"fd00::/8"}, "a", "fc12::1", false},
      {{"fd00::/8"}, "a", "64:ff9b::a00:1", false},
      {{"64:ff9b::/96"}, "a", "64:ff9b::a00:1", true},
      {{"hooks.internal"}, "hooks.internal", "10.0.0.1", true},
      {{"Hooks.Internal"}, "hOOKS.internal", "10.0.0.1", true},
      {{"hooks.internal"}, "other.internal", "10.0.0.1", false},
      {{"hooks.internal"}, "x.hooks.internal", "10.0.0.1", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(AddressGuard(row.list).allows(row.host, address(row.address).get()), row.allowed)
        << row.address << " of " << row.host;
  }
}

TEST(AddressGuard, knowsWhatMayStandOnItsList) {
  for (const char* good : {"10.0.0.0/8", "10.1.2.3", "::1", "fd00::/8", "hooks.internal", "a_b"}) {
    EXPECT_TRUE(isGuardEntry(good)) << good;
  }
  for (const char* bad : {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "fd00::/129", "fd00::/-1",
                          "http://a", "a b", "a/8", "*.internal"}) {
    EXPECT_FALSE(isGuardEntry(bad)) << bad;
  }
}

}  // namespace
}  // namespace muster
