// The command line against a service behind TLS.
#include <gtest/gtest.h>

#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_folder.h"

namespace muster::test {
namespace {

// Answers every GET with {"status":"ready"} over TLS, with a certificate for 127.0.0.1 alone.
constexpr const char* kServer = R"py(
import http.server, ssl
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"status":"ready"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Ready)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("certificate.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
)py";

class Tls : public testing::Test {
 protected:
  Tls() {
    ChildProcess make(
        {{"/usr/bin/env", "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
          "-subj", "/CN=muster test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
          "key.pem", "-out", "certificate.pem"},
         folder_.path()});
    EXPECT_EQ(make.wait(), 0) << make.err();
    writeFile(folder_ / "server.py", kServer);
    server_ = std::make_unique<ChildProcess>(
        Command{{"/usr/bin/env", "python3", "server.py"}, folder_.path(), {}, false});
    eventually(kPatience, [this] { return server_->out().ends_with('\n'); });
    port_ = server_->out();
    port_.pop_back();
  }

  struct Health {
    std::optional<int> exit_code;
    std::string err;
  };
  Health health(const std::string& host, const std::string& trusted) {
    TempFolder folder;
    ChildProcess command({{musterBinary(), "health", "--url", "https://" + host + ":" + port_},
                          folder.path(),
                          {"SSL_CERT_FILE=" + trusted}});
    const auto exit_code = command.wait();
    return {exit_code, command.err()};
  }

  TempFolder folder_;
  std::unique_ptr<ChildProcess> server_;
  std::string port_;
};

TEST_F(Tls, aTrustedCertificateIsTaken) {
  const Health health = this->health("127.0.0.1", (folder_ / "certificate.pem").string());
  EXPECT_EQ(health.exit_code, 0) << health.err;
}

TEST_F(Tls, anUnknownCertificateIsRefused) {
  const Health health = this->health("127.0.0.1", "/nowhere");
  EXPECT_EQ(health.exit_code, 1);
  EXPECT_NE(health.err.find("the certificate of 127.0.0.1 is not trusted: self-signed certificate"),
            std::string::npos)
      << health.err;
}

TEST_F(Tls, aCertificateForAnotherNameIsRefused) {
  const Health health = this->health("localhost", (folder_ / "certificate.pem").string());
  EXPECT_EQ(health.exit_code, 1);
  EXPECT_NE(health.err.find("hostname mismatch"), std::string::npos) << health.err;
}

}  // namespace
}  // namespace muster::test
