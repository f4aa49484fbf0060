// Templates that name the user who runs their programs.
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <pwd.h>
#include <unistd.h>

#include "tests/launch/probe.h"

namespace muster::test {
namespace {

// Root can become anybody; others can only stay who they are.
std::string someUser() { return ::geteuid() == 0 ? "nobody" : ::getpwuid(::geteuid())->pw_name; }
std::string userWhoIsNotUs() { return ::geteuid() == 0 ? "nobody" : "root"; }

std::string refusalOfSettings(const std::string& settings) {
  const TempFolder folder;
  writeFile(folder / "muster.yml", settings);
  ChildProcess muster({{musterBinary(), "serve", "--listen", "127.0.0.1:0", "--store", "memory:"},
                       folder.path(),
                       {},
                       false,
                       false,
                       {CAP_SETUID}});
  eventually(kPatience, [&] { return !muster.running() || !muster.out().empty(); });
  EXPECT_EQ(muster.wait(), 2);
  return muster.err();
}

TEST(RunAs, a_worker_runs_as_the_user_of_its_template) {
  const std::string user = someUser();
  Probe probe(
      "id -un; id -u; echo home $HOME; echo user $USER; echo again >> /dev/stderr; "
      "grep CapPrm /proc/self/status; exit 1",
      {}, ", user: " + user);
  const passwd* const entry = ::getpwnam(user.c_str());
  EXPECT_EQ(probe.output(), user + "\n" + std::to_string(entry->pw_uid) + "\nhome " +
                                entry->pw_dir + "\nuser " + user +
                                "\nagain\nCapPrm:\t0000000000000000\n");
}

// Root gets one more group while this lives; others cannot be given any.
class OneMoreGroup {
 public:
  OneMoreGroup() : before_(static_cast<std::size_t>(::getgroups(0, nullptr))) {
    before_.resize(
        static_cast<std::size_t>(::getgroups(static_cast<int>(before_.size()), before_.data())));
    std::vector<gid_t> more = before_;
    more.push_back(::getgrnam("tty")->gr_gid);
    given_ = ::setgroups(more.size(), more.data()) == 0;
  }
  ~OneMoreGroup() {
    if (given_) ::setgroups(before_.size(), before_.data());
  }
  bool isGiven() const { return given_; }
  OneMoreGroup(const OneMoreGroup&) = delete;
  OneMoreGroup& operator=(const OneMoreGroup&) = delete;

 private:
  std::vector<gid_t> before_;
  bool given_ = false;
};

TEST(RunAs, a_worker_has_no_group_of_the_service) {
  const OneMoreGroup tty;
  Probe probe("id -Gn; exit 1", {}, ", user: " + someUser());
  const std::string output = " " + probe.output();
  if (tty.isGiven()) {
    EXPECT_EQ(output.find(" tty"), std::string::npos) << output;
  }
}

TEST(RunAs, a_worker_runs_with_the_group_of_its_template) {
  const std::string group = ::geteuid() == 0 ? "daemon" : ::getgrgid(::getegid())->gr_name;
  Probe probe("id -gn; exit 1", {}, ", user: " + someUser() + ", group: " + group);
  EXPECT_EQ(probe.output(), group + "\n");
}

TEST(RunAs, a_service_that_may_not_switch_does_not_start) {
  const std::string user = userWhoIsNotUs();
  const std::string said =
      refusalOfSettings("templates:\n  t: {worker: [\"true\"], user: " + user + "}\n");
  EXPECT_NE(said.find("template t: this process may not run programs as \"" + user + "\""),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("CAP_SETUID"), std::string::npos) << said;
}

TEST(RunAs, a_user_who_does_not_exist_is_named_with_the_place) {
  const std::string said =
      refusalOfSettings("templates:\n  t: {worker: [\"true\"], user: no-such-user}\n");
  EXPECT_NE(said.find("muster.yml:2:31: no user of this machine is named \"no-such-user\""),
            std::string::npos)
      << said;
}

}  // namespace
}  // namespace muster::test
