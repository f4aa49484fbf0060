// A service behind TLS and those whom it launches: they trust it without any set-up.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/certificates.h"
#include "tests/support/pool_client.h"
#include "tests/support/service.h"

#ifdef MUSTER_FRAMEWORK_TELLS_OF_CONNECTIONS  // older releases speak no TLS with us

namespace muster::test {
namespace {

class LaunchedOverHttps : public testing::Test {
 protected:
  // A name that nobody calls on this machine, as most certificates have.
  LaunchedOverHttps()
      : own_(authority_.issue(folder_.path(), "own",
                              {"muster.example.org", "DNS:muster.example.org"})) {}

  ServiceOptions options(const std::string& more) const {
    return {.settings = "tls_cert: " + own_.certificate + "\ntls_key: " + own_.key + "\n" + more,
            .https = true};
  }
  // The test calls by the address: it trusts the certificate's own name under it.
  bool becomesDone(Service& service, int jobs) const {
    const auto done = [&] {
      const TempFolder folder;
      ChildProcess stats({{musterBinary(), "pools", "stats", "p", "-o", "json"},
                          folder.path(),
                          {"MUSTER_URL=" + service.url(), "MUSTER_CA=" + own_.certificate}});
      stats.wait();
      return stats.out().find("\"done\":" + std::to_string(jobs) + ",") != std::string::npos;
    };
    return eventually(kPatience, done);
  }
  // Again, while a thread of the service still shows the certificate before this one.
  void push(Service& service) const {
    const auto taken = [&] {
      const TempFolder folder;
      ChildProcess push({{musterBinary(), "push", "p", "--data", "1"},
                         folder.path(),
                         {"MUSTER_URL=" + service.url(), "MUSTER_CA=" + own_.certificate}});
      return push.wait() == 0;
    };
    ASSERT_TRUE(eventually(kPatience, taken)) << service.log();
  }

  const TempFolder folder_;
  const TestAuthority authority_;
  const CertificateFiles own_;
};

TEST_F(LaunchedOverHttps, workers_do_their_jobs) {
  Service service(options("pools: {p: {template: echo}}\n"));
  push(service);
  EXPECT_TRUE(becomesDone(service, 1)) << service.log();
}

#ifdef MUSTER_FRAMEWORK_RELOADS_CERTIFICATES
TEST_F(LaunchedOverHttps, workers_trust_a_renewed_certificate) {
  Service service(options("pools: {p: {template: echo}}\n"));
  const CertificateFiles renewed =
      authority_.issue(folder_.path(), "renewed", {"muster.example.org", "DNS:muster.example.org"});
  std::filesystem::rename(renewed.key, own_.key);
  std::filesystem::rename(renewed.certificate, own_.certificate);
  ASSERT_TRUE(eventually(
      kPatience, [&] { return service.log().find("TLS files read again") != std::string::npos; }));
  push(service);
  EXPECT_TRUE(becomesDone(service, 1)) << service.log();
}
#endif

TEST_F(LaunchedOverHttps, commands_of_workers_are_told_whom_to_trust) {
  Service service(
      options("templates: {tell: {run: [sh, -c, 'cat \"$MUSTER_CA\"']}}\n"
              "pools: {p: {template: tell}}\n"));
  push(service);
  ASSERT_TRUE(becomesDone(service, 1)) << service.log();
  const TempFolder folder;
  ChildProcess list({{musterBinary(), "jobs", "list", "p", "-o", "json"},
                     folder.path(),
                     {"MUSTER_URL=" + service.url(), "MUSTER_CA=" + own_.certificate}});
  ASSERT_EQ(list.wait(), 0) << list.err();
  EXPECT_EQ(list.out().find("PRIVATE KEY"), std::string::npos);
  const std::filesystem::path published = service.folder() / "worker_output/service.pem";
  EXPECT_EQ(readFile(published), readFile(own_.certificate));
  EXPECT_EQ(service.stop(), 0);
  EXPECT_FALSE(std::filesystem::exists(published));
}

TEST_F(LaunchedOverHttps, a_key_in_the_file_of_the_certificate_stays_there) {
  writeFile(folder_ / "both.pem", readFile(own_.key) + readFile(own_.certificate));
  const std::string both = (folder_ / "both.pem").string();
  Service service({.settings = "tls_cert: " + both + "\ntls_key: " + both + "\n", .https = true});
  ASSERT_TRUE(eventually(kPatience, [&] {
    return std::filesystem::exists(service.folder() / "worker_output/service.pem");
  }));
  EXPECT_EQ(readFile(service.folder() / "worker_output/service.pem"), readFile(own_.certificate));
}

TEST_F(LaunchedOverHttps, a_trigger_in_a_process_of_its_own_reaches_the_service) {
  const CertificateFiles named =
      authority_.issue(folder_.path(), "named", {"muster.example.org", "IP:127.0.0.1"});
  writeFile(folder_ / "ca.pem", authority_.pem());
  Service service(
      {.settings = "tls_cert: " + named.certificate + "\ntls_key: " + named.key +
                   "\ntriggers:\n  - {name: reaping, type: subprocess, on: pool_paused, "
                   "machine: stale_worker_reaper, input: {stale_threshold_seconds: 0.001}}\n",
       .https = true});
  PoolClient pool(service.url(), "p", {.ca = (folder_ / "ca.pem").string()});
  pool.configure("");
  pool.registerWorker("silent");
  EXPECT_EQ(pool.http().post("/v1/pools/p/pause").status, 200);
  EXPECT_TRUE(eventually(kPatience, [&] { return pool.worker("silent")["status"] == "lost"; }))
      << service.log();
}

}  // namespace
}  // namespace muster::test

#endif
