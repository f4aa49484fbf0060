// The service behind its own TLS: who is believed, and who is not.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <memory>

#include "tests/support/certificates.h"
#include "tests/support/pool_client.h"
#include "tests/support/problem.h"
#include "tests/support/raw_connection.h"
#include "tests/support/service.h"

#ifdef MUSTER_FRAMEWORK_TELLS_OF_CONNECTIONS  // older releases speak no TLS with us

namespace muster::test {
namespace {

namespace fs = std::filesystem;

// SHA-256 of "secret".
constexpr const char* kCiToken =
    "tokens:\n  - {name: ci, sha256: "
    "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b, scopes: [admin]}\n";

class Https : public testing::Test {
 protected:
  Https() {
    writeFile(folder_ / "ca.pem", authority_.pem());
    ca_ = (folder_ / "ca.pem").string();
    own_ = authority_.issue(folder_.path(), "own", {"muster.example.org", "IP:127.0.0.1"});
  }

  std::string tlsSettings(const std::string& more = {}) const {
    return "tls_cert: " + own_.certificate + "\ntls_key: " + own_.key + "\n" + more;
  }
  ServiceOptions options(const std::string& more = {}) const {
    return {.store = anyStore(), .settings = tlsSettings(more), .https = true};
  }
  PoolClient pool(const Service& service) const { return {service.url(), "p", {.ca = ca_}}; }
  Reply health(const std::string& url, HttpsFiles files) const {
    return Http(url, std::move(files)).get("/healthz");
  }

  struct Ran {
    int exit_code = -1;
    std::string out;
    std::string err;
  };
  Ran muster(std::vector<std::string> args, std::vector<std::string> env) const {
    const TempFolder folder;
    args.insert(args.begin(), musterBinary());
    ChildProcess command({args, folder.path(), std::move(env)});
    const int code = command.wait().value_or(-1);
    return {code, command.out(), command.err()};
  }
  Ran healthCommand(const std::string& url, const std::string& ca) const {
    return muster({"health"}, {"MUSTER_URL=" + url, "MUSTER_CA=" + ca});
  }

  const TempFolder folder_;
  const TestAuthority authority_;
  std::string ca_;
  CertificateFiles own_;
};

testing::AssertionResult saysIn(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << part << "\" is not in: " << text;
}

TEST_F(Https, carries_jobs_from_push_to_complete) {
  Service service(options());
  PoolClient pool = this->pool(service);
  const std::string data = "\"" + std::string(300'000, 'x') + "\"";
  const Json::Value pushed = pool.push("\"data\":" + data);
  const Json::Value claimed = pool.claimOne();
  EXPECT_EQ(claimed["id"], pushed["id"]);
  EXPECT_EQ(claimed["data"].asString().size(), 300'000U);
  EXPECT_EQ(pool.report("complete", claimed, R"("result":{"a":1})").status, 200);
  EXPECT_EQ(pool.job(pushed)["status"], "done");
}

TEST_F(Https, carries_a_claim_that_waits) {
  Service service(options());
  const auto worker = [&] {
    return muster({"worker", "--pool", "p", "--loop", "--max-jobs", "1", "--idle-timeout-seconds",
                   "0", "--", "/bin/cat"},
                  {"MUSTER_URL=" + service.url(), "MUSTER_CA=" + ca_});
  };
  PoolClient pool = this->pool(service);
  pool.push(R"("data":{"a":1},"delay_seconds":1)");
  const Ran ran = worker();
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(pool.stats()["done"], 1);
}

TEST_F(Https, serves_commands_that_trust_its_authority) {
  Service service(options());
  const std::vector<std::string> env = {"MUSTER_URL=" + service.url(), "MUSTER_CA=" + ca_};
  Ran ran = muster({"push", "p", "--data", "[1]"}, env);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  ran = muster({"worker", "--pool", "p", "--", "/bin/cat"}, env);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  ran = muster({"--ca", ca_, "jobs", "list", "p"}, {"MUSTER_URL=" + service.url()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(saysIn(ran.out, "done"));
}

#ifdef MUSTER_FRAMEWORK_TELLS_OF_CONNECTIONS
TEST_F(Https, answers_an_unknown_method_as_over_http) {
  Service service(options());
  Http http(service.url(), {.ca = ca_});
  EXPECT_TRUE(isProblem(http.send({"BREW", "/v1/pools"}), 405, "method_not_allowed"));
}
#endif

TEST_F(Https, is_not_believed_without_a_reason) {
  Service service(options());
  const TestAuthority other("another authority");
  writeFile(folder_ / "other.pem", other.pem());
  const std::string wrong = (folder_ / "other.pem").string();
  EXPECT_EQ(health(service.url(), {.ca = wrong}).status, 0);
  for (const std::string& ca : {std::string(), wrong}) {
    const Ran ran = muster({"pools", "list"}, {"MUSTER_URL=" + service.url(), "MUSTER_CA=" + ca});
    EXPECT_EQ(ran.exit_code, 3) << ran.err;
    EXPECT_TRUE(saysIn(ran.err, "the certificate of 127.0.0.1 is not trusted: "));
    EXPECT_TRUE(saysIn(ran.err, "set MUSTER_CA"));
  }
}

TEST_F(Https, a_worker_says_why_it_does_not_believe) {
  Service service(options());
  const Ran ran = muster({"worker", "--pool", "p", "--connect-timeout", "0", "--", "/bin/cat"},
                         {"MUSTER_URL=" + service.url()});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_TRUE(saysIn(ran.err, "set MUSTER_CA"));
}

TEST_F(Https, an_expired_certificate_is_not_believed_though_its_service_starts) {
  own_ = authority_.issue(folder_.path(), "old", {"muster.example.org", "IP:127.0.0.1", -1});
  Service service(options());
  EXPECT_TRUE(saysIn(service.log(), "the certificate has expired"));
  EXPECT_EQ(health(service.url(), {.ca = ca_}).status, 0);
  for (const std::string& ca : {ca_, own_.certificate}) {
    const Ran ran = healthCommand(service.url(), ca);
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_TRUE(saysIn(ran.err, "is not trusted: certificate has expired"));
    EXPECT_FALSE(saysIn(ran.err, "set MUSTER_CA")) << "that would not help";
  }
}

TEST_F(Https, a_certificate_is_believed_for_its_names_and_the_services_own_for_all) {
  own_ =
      authority_.issue(folder_.path(), "named", {"muster.example.org", "DNS:muster.example.org"});
  Service service(options());
  const Ran by_authority = healthCommand(service.url(), ca_);
  EXPECT_EQ(by_authority.exit_code, 1);
  EXPECT_TRUE(saysIn(by_authority.err, "IP address mismatch"));
  const Ran by_itself = healthCommand(service.url(), own_.certificate);
  EXPECT_EQ(by_itself.exit_code, 0) << by_itself.err;
  const CertificateFiles sister =
      authority_.issue(folder_.path(), "sister", {"muster.example.org", "IP:127.0.0.1"});
  const Ran by_sister = healthCommand(service.url(), sister.certificate);
  EXPECT_EQ(by_sister.exit_code, 1) << "the same authority, but not this certificate";
  // A second certificate of the file is an authority at most: its holder needs the right name.
  writeFile(folder_ / "both.pem", readFile(ca_) + readFile(own_.certificate));
  EXPECT_EQ(healthCommand(service.url(), (folder_ / "both.pem").string()).exit_code, 1);
}

TEST_F(Https, trust_that_cannot_be_read_is_named) {
  Service service(options());
  EXPECT_TRUE(saysIn(healthCommand(service.url(), "/no/such/file").err,
                     "/no/such/file, cannot be read: No such file"));
  EXPECT_TRUE(saysIn(healthCommand(service.url(), own_.key).err,
                     own_.key + ", does not hold certificates in PEM"));
}

// How a client begins that speaks TLS 1.1 to `most`.
std::string greetingOf(int most) {
  const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context(
      ::SSL_CTX_new(::TLS_client_method()), ::SSL_CTX_free);
  ::SSL_CTX_set_security_level(context.get(), 0);  // or the library does not speak 1.1
  SSL_CTX_set_min_proto_version(context.get(), TLS1_1_VERSION);
  SSL_CTX_set_max_proto_version(context.get(), most);
  const std::unique_ptr<SSL, decltype(&::SSL_free)> session(::SSL_new(context.get()), ::SSL_free);
  BIO* const sent = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(session.get(), ::BIO_new(::BIO_s_mem()), sent);
  ::SSL_connect(session.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(sent, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

TEST_F(Https, refuses_what_is_older_than_tls_1_2) {
  Service service(options());
  const std::string handshake = "\x16";  // the first byte of an answer that takes the greeting
  const std::string old = greetingOf(TLS1_1_VERSION), newer = greetingOf(TLS1_2_VERSION);
  ASSERT_TRUE(old.starts_with(handshake) && newer.starts_with(handshake));
  RawConnection refused(service.port());
  ASSERT_TRUE(refused.send(old));
  EXPECT_FALSE(refused.receive(kPatience).starts_with(handshake));
  EXPECT_TRUE(refused.closed());
  RawConnection taken(service.port());
  ASSERT_TRUE(taken.send(newer));
  EXPECT_TRUE(taken.receive(kPatience, handshake).starts_with(handshake));
}

TEST_F(Https, closes_a_connection_that_does_not_speak_tls) {
  Service service(options());
  RawConnection plain(service.port());
  ASSERT_TRUE(plain.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  const std::string answer = plain.receive(kPatience);
  EXPECT_TRUE(plain.closed());
  EXPECT_EQ(answer.find("HTTP/"), std::string::npos) << answer;
  EXPECT_EQ(health(service.url(), {.ca = ca_}).status, 200) << "others are served on";
  const Ran ran = healthCommand("http" + service.url().substr(5), ca_);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_TRUE(saysIn(ran.err, "https"));
}

TEST_F(Https, https_to_a_service_without_tls_says_so) {
  Service service({.store = anyStore()});
  const Ran ran = healthCommand("https" + service.url().substr(4), ca_);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_TRUE(saysIn(ran.err, "does not speak TLS"));
}

#ifdef MUSTER_FRAMEWORK_RELOADS_CERTIFICATES
TEST_F(Https, a_new_certificate_is_served_without_a_restart) {
  Service service(options());
  Http open(service.url(), {.ca = ca_});
  ASSERT_EQ(open.get("/healthz").status, 200);
  const TestAuthority next("the next authority");
  writeFile(folder_ / "next.pem", next.pem());
  const HttpsFiles trusts_next{.ca = (folder_ / "next.pem").string()};
  ASSERT_EQ(health(service.url(), trusts_next).status, 0);

  // First the certificate, then the key, as most tools do: in between they do not fit together.
  const CertificateFiles renewed =
      next.issue(folder_.path(), "renewed", {"muster.example.org", "IP:127.0.0.1"});
  fs::rename(renewed.certificate, own_.certificate);
  ASSERT_TRUE(eventually(kPatience, [&] {
    return service.log().find("is not the key of the first certificate") != std::string::npos;
  }));
  EXPECT_EQ(health(service.url(), {.ca = ca_}).status, 200) << "the pair before stays in force";
  fs::rename(renewed.key, own_.key);
  EXPECT_TRUE(eventually(kPatience, [&] { return health(service.url(), trusts_next).ok(); }));
  EXPECT_TRUE(eventually(kPatience, [&] { return health(service.url(), {.ca = ca_}).status == 0; }))
      << "each thread of the service takes it by itself";
  EXPECT_EQ(open.get("/healthz").status, 200) << "an open connection goes on";
  EXPECT_EQ(service.stop(), 0) << service.log();
}
#endif

TEST_F(Https, does_not_start_with_files_that_cannot_be_used) {
  const CertificateFiles other = authority_.issue(folder_.path(), "other", {"x"});
  writeFile(folder_ / "empty.pem", "");
  writeFile(folder_ / "locked.key",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n");
  const std::string empty = (folder_ / "empty.pem").string();
  const std::string locked = (folder_ / "locked.key").string();
  writeFile(folder_ / "broken.pem",
            readFile(own_.certificate) +
                "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
  const std::string broken = (folder_ / "broken.pem").string();
  struct Row {
    std::string certificate, key, client_ca, says;
  };
  const Row rows[] = {
      {own_.certificate, other.key, "", "is not the key of the first certificate in tls_cert"},
      {"/no/such", own_.key, "", "tls_cert /no/such cannot be read: No such file"},
      {own_.certificate, "/no/such", "", "tls_key /no/such cannot be read: No such file"},
      {own_.key, own_.key, "", "tls_cert " + own_.key + " does not hold whole certificates in PEM"},
      {broken, own_.key, "", broken + " does not hold whole certificates in PEM"},
      {own_.certificate, empty, "", empty + " does not hold a private key without a passphrase"},
      {own_.certificate, locked, "", locked + " does not hold a private key without a passphrase"},
      {own_.certificate, own_.key, empty, "tls_client_ca " + empty + " does not hold"},
      {own_.certificate, "", "", "tls_cert is set and tls_key is not: expected both, or none"},
      {"", own_.key, "", "tls_key is set and tls_cert is not: expected both, or none"},
      {"", "", ca_, "tls_client_ca is set and tls_cert is not"},
  };
  for (const Row& row : rows) {
    const Ran ran = muster({"serve", "--listen", "127.0.0.1:0", "--store", "memory:"},
                           {"MUSTER_TLS_CERT=" + row.certificate, "MUSTER_TLS_KEY=" + row.key,
                            "MUSTER_TLS_CLIENT_CA=" + row.client_ca});
    EXPECT_EQ(ran.exit_code, 2) << row.says << ran.err;
    EXPECT_TRUE(saysIn(ran.err, row.says));
    EXPECT_EQ(ran.out, "") << "it did not listen";
  }
}

// A service that takes certificates of callers.
class ClientCertificates : public Https {
 protected:
  ServiceOptions asking(const std::string& more = kCiToken) const {
    return options("tls_client_ca: " + ca_ +
                   "\ntls_clients:\n"
                   "  - {name: farm, subject: farm.example.org, scopes: [work]}\n"
                   "  - {name: shop, subject: shop.example.org, scopes: [produce, read]}\n" +
                   more);
  }
  HttpsFiles as(const TestAuthority& authority, const CertificateRequest& request) const {
    const std::string name = "caller" + std::to_string(++callers_);
    const CertificateFiles files = authority.issue(folder_.path(), name, request);
    return {ca_, files.certificate, files.key};
  }
  HttpsFiles as(const std::string& common_name) const { return as(authority_, {common_name}); }

 private:
  mutable int callers_ = 0;
};

TEST_F(ClientCertificates, allow_what_their_entry_says) {
  Service service(asking());
  PoolClient shop(service.url(), "p", as("shop.example.org"));
  PoolClient farm(service.url(), "p", as("farm.example.org"));
  shop.push();
  EXPECT_TRUE(isProblem(shop.tryClaim("w1"), 403, "forbidden"));
  EXPECT_TRUE(isProblem(farm.tryPush(R"("data":1)"), 403, "forbidden"));
  const Json::Value claimed = farm.claimOne();
  EXPECT_EQ(farm.report("complete", claimed).status, 200);
  EXPECT_EQ(shop.stats()["done"], 1);
}

TEST_F(ClientCertificates, are_not_needed_beside_a_token_and_do_not_add_to_one) {
  Service service(asking());
  Http nobody(service.url(), {.ca = ca_});
  EXPECT_EQ(nobody.get("/healthz").status, 200);
  EXPECT_TRUE(isProblem(nobody.get("/v1/pools"), 401, "unauthorized"));
  EXPECT_EQ(nobody.get("/v1/pools", {{"Authorization", "Bearer secret"}}).status, 200);
  Http shop(service.url(), as("shop.example.org"));
  EXPECT_EQ(shop.get("/v1/pools").status, 200);
  EXPECT_TRUE(
      isProblem(shop.get("/v1/pools", {{"Authorization", "Bearer wrong"}}), 401, "unauthorized"));
}

TEST_F(ClientCertificates, count_by_their_exact_common_name) {
  Service service(asking());
  for (const char* name : {"shop.example.or", "shop.example.org.evil", "SHOP.example.org", "*"}) {
    const Reply reply = Http(service.url(), as(name)).get("/v1/pools");
    EXPECT_TRUE(isProblem(reply, 401, "unauthorized")) << name;
    EXPECT_TRUE(saysIn(reply.body, name));
  }
  // A name beside the common name is none.
  const HttpsFiles alternative = as(authority_, {"stranger", "DNS:shop.example.org"});
  EXPECT_EQ(Http(service.url(), alternative).get("/v1/pools").status, 401);
  for (const auto& [first, second] :
       {std::pair("stranger", "shop.example.org"), std::pair("shop.example.org", "stranger")}) {
    const HttpsFiles two = as(authority_, {first, "", 2, second});
    EXPECT_EQ(Http(service.url(), two).get("/v1/pools").status, 401) << "which of them counts?";
  }
}

TEST_F(ClientCertificates, of_strangers_and_of_yesterday_are_refused) {
  Service service(asking());
  const TestAuthority stranger;  // by the same name, but not the same
  const HttpsFiles forged = as(stranger, {"shop.example.org"});
  EXPECT_EQ(health(service.url(), forged).status, 0);
  const Ran ran =
      muster({"pools", "list"},
             {"MUSTER_URL=" + service.url(), "MUSTER_CA=" + ca_, "MUSTER_TOKEN=secret",
              "MUSTER_CLIENT_CERT=" + forged.certificate, "MUSTER_CLIENT_KEY=" + forged.key});
  EXPECT_EQ(ran.exit_code, 3) << "nor is it ignored beside a token: " << ran.out << ran.err;
  EXPECT_TRUE(saysIn(ran.err, "client certificate"));
  EXPECT_EQ(health(service.url(), as(authority_, {"shop.example.org", "", -1})).status, 0);
  EXPECT_EQ(health(service.url(), as("shop.example.org")).status, 200);
}

TEST_F(ClientCertificates, are_shown_by_commands) {
  Service service(asking());
  const HttpsFiles shop = as("shop.example.org");
  std::vector<std::string> env = {"MUSTER_URL=" + service.url(), "MUSTER_CA=" + ca_,
                                  "MUSTER_CLIENT_CERT=" + shop.certificate,
                                  "MUSTER_CLIENT_KEY=" + shop.key};
  Ran ran = muster({"push", "p", "--data", "1"}, env);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  env.back() = "MUSTER_CLIENT_KEY=" + own_.key;
  ran = muster({"push", "p", "--data", "1"}, env);
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_TRUE(saysIn(ran.err, "key values mismatch"));
  env[2] = "MUSTER_CLIENT_CERT=";
  ran = muster({"push", "p", "--data", "1"}, env);
  EXPECT_TRUE(saysIn(ran.err, "set MUSTER_CLIENT_CERT too"));
}

TEST_F(ClientCertificates, are_asked_for_anew_by_each_connection) {
  Service service(asking());
  for (const long version : {CURL_SSLVERSION_MAX_TLSv1_2, CURL_SSLVERSION_MAX_DEFAULT}) {
    Http shop(service.url(), as("shop.example.org"));
    if (version != CURL_SSLVERSION_MAX_DEFAULT) shop.limitTls(version);
    for (int i = 0; i < 3; ++i) {
      const Reply reply = shop.get("/v1/pools");
      EXPECT_EQ(reply.status, 200) << reply;
      shop.reconnect();  // and resumes its session, if the service lets it
    }
  }
}

TEST_F(ClientCertificates, are_enough_to_ask_who_calls) {
  Service service(asking(""));
  EXPECT_TRUE(isProblem(Http(service.url(), {.ca = ca_}).get("/v1/pools"), 401, "unauthorized"));
  EXPECT_EQ(Http(service.url(), as("shop.example.org")).get("/v1/pools").status, 200);
}

#ifdef MUSTER_FRAMEWORK_RELOADS_CERTIFICATES
TEST_F(ClientCertificates, of_a_new_authority_are_taken_after_a_reload) {
  Service service(asking());
  const TestAuthority next("the next authority");
  const HttpsFiles files = as(next, {"shop.example.org"});
  writeFile(folder_ / "server-ca.pem", authority_.pem());
  const HttpsFiles caller{(folder_ / "server-ca.pem").string(), files.certificate, files.key};
  ASSERT_EQ(Http(service.url(), caller).get("/v1/pools").status, 0);
  writeFile(folder_ / "new.pem", authority_.pem() + next.pem());
  fs::rename(folder_ / "new.pem", ca_);
  EXPECT_TRUE(eventually(
      kPatience, [&] { return Http(service.url(), caller).get("/v1/pools").status == 200; }));
}
#endif

TEST_F(Https, doctor_looks_at_the_certificate_and_reaches_the_service) {
  own_ = authority_.issue(folder_.path(), "named", {"x", "DNS:muster.example.org", 60});
  Service service(options());
  const std::string listen = "127.0.0.1:" + std::to_string(service.port());
  const auto doctor = [&](const CertificateFiles& files) {
    return muster({"doctor"},
                  {"MUSTER_STORE=memory:", "MUSTER_LISTEN=" + listen,
                   "MUSTER_TLS_CERT=" + files.certificate, "MUSTER_TLS_KEY=" + files.key});
  };
  const Ran well = doctor(own_);
  EXPECT_EQ(well.exit_code, 0) << well.out;
  EXPECT_TRUE(saysIn(well.out, "good for 59 days"));
  EXPECT_TRUE(saysIn(well.out, "runs at https://127.0.0.1:"));
  const Ran soon = doctor(authority_.issue(folder_.path(), "soon", {"x", "", 2}));
  EXPECT_EQ(soon.exit_code, 0) << soon.out;
  EXPECT_TRUE(saysIn(soon.out, "warn  certificate"));
  const Ran late = doctor(authority_.issue(folder_.path(), "late", {"x", "", -1}));
  EXPECT_EQ(late.exit_code, 1) << late.out;
  EXPECT_TRUE(saysIn(late.out, "FAIL  certificate"));
  const Ran mixed = doctor({own_.certificate, folder_ / "late.key"});
  EXPECT_TRUE(saysIn(mixed.out, "is not the key of the first certificate"));
}

}  // namespace
}  // namespace muster::test

#endif
