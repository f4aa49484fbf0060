#include "app/server/server.h"

#include <drogon/HttpAppFramework.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <trantor/utils/Logger.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <thread>

#include "app/log/log_throttle.h"
#include "app/server/connections.h"
#include "app/server/incoming.h"
#include "app/server/service.h"
#include "app/tls/tls_identity.h"
#include "models/store/sqlite/sqlite_privacy.h"
#include "models/store_url.h"

namespace muster {
namespace {

constexpr double kTickSeconds = 1.0;
constexpr double kDrainLookSeconds = 0.01;
constexpr const char* kNoUploads = "/dev/null/unused";  // or the framework makes 256 folders
constexpr const char* kGoneAlready = "sockets::shutdownWrite";  // who did not speak TLS, say
constexpr std::size_t kIdleSeconds = 90;  // above the longest wait, so no answer is cut off

constexpr double kFrameworkLinesPerSecond = 10;
constexpr double kRefusalLinesPerSecond = 0.2;

std::string countOrNothing(std::uint64_t count) { return count > 0 ? std::to_string(count) : ""; }

// Some lines of the framework come as often as a stranger wants them to.
void forwardFrameworkLog(const Log& log, const Clock& clock) {
  trantor::Logger::setLogLevel(trantor::Logger::kWarn);
  const auto throttle = std::make_shared<LogThrottle>(clock, kFrameworkLinesPerSecond);
  trantor::Logger::setOutputFunction(
      [&log, throttle](const char* text, std::uint64_t size) {
        std::string_view line(text, size);
        for (const char* expected : {"signal received", kNoUploads, kGoneAlready}) {
          if (line.find(expected) != std::string_view::npos) return;
        }
        const auto left_out = throttle->pass();
        if (!left_out) return;
        while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
        log.warn("http server", {{"detail", line}, {"left_out", countOrNothing(*left_out)}});
      },
      [] {});
}

// Refuses new work, lets what is in flight finish, then ends the event loops. Where the workers are
// to finish too, that comes first, and they are answered meanwhile.
class Shutdown {
 public:
  Shutdown(Service& service, const Log& log, const Clock& clock, const Settings& settings)
      : service_(service), log_(log), clock_(clock), settings_(settings) {}

  // On the main loop; a second signal ends at once.
  void begin() {
    if (began_) {
      drogon::app().quit();
      return;
    }
    began_ = true;
    if (settings_.on_stop == OnStop::kLeave) return refuse();
    log_.info("waiting for workers to finish");
    service_.gateway().admitWorkersOnly();
    deadline_ = clock_.monotonic() + service_.retireWorkers();
    lookAtWorkers();
  }

 private:
  void lookAtWorkers() {
    const bool in_time = clock_.monotonic() <= deadline_;
    if (service_.hasWorkers() && in_time) return again([this] { lookAtWorkers(); });
    if (!in_time) log_.warn("stopping before all workers have finished");
    refuse();
  }

  void refuse() {
    log_.info("stopping", {{"in_flight", std::to_string(service_.gateway().inFlight())}});
    service_.gateway().drain();
    service_.endWaits();
    deadline_ = clock_.monotonic() + settings_.shutdown_timeout;
    look();
  }

  void look() {
    const auto in_flight = service_.gateway().inFlight();
    if (in_flight == 0 || clock_.monotonic() > deadline_) {
      if (in_flight > 0) {
        log_.warn("stopped with requests in flight", {{"in_flight", std::to_string(in_flight)}});
      }
      return again([] { drogon::app().quit(); });
    }
    again([this] { look(); });
  }

  static void again(std::function<void()> next) {
    drogon::app().getLoop()->runAfter(kDrainLookSeconds, std::move(next));
  }

  Service& service_;
  const Log& log_;
  const Clock& clock_;
  const Settings& settings_;
  std::chrono::nanoseconds deadline_{0};
  bool began_ = false;
};

// The framework ends the process when it cannot listen; this says why, first.
std::optional<std::string> listenObstacle(const ListenAddress& address) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  const std::string port = std::to_string(address.port);
  if (const int code = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found); code != 0) {
    return gai_strerror(code);
  }
  const int probe = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool bound = probe >= 0 && ::bind(probe, found->ai_addr, found->ai_addrlen) == 0 &&
                     ::listen(probe, 1) == 0;
  const std::string why = std::strerror(errno);
  ::close(probe);
  freeaddrinfo(found);
  return bound ? std::nullopt : std::optional(why);
}

void announce(const Settings& settings, Service& service, TlsIdentity& tls, const Log& log) {
  const auto& addresses = drogon::app().getListeners();
  const std::string host = settings.listen.host.find(':') == std::string::npos
                               ? settings.listen.host
                               : "[" + settings.listen.host + "]";
  const std::string_view scheme = urlScheme(settings);
  const std::string url = fmt::format("{}://{}:{}", scheme, host, addresses.front().toPort());
  const bool everywhere = settings.listen.host == "0.0.0.0" || settings.listen.host == "::";
  const int port = addresses.front().toPort();
  const std::string certificate = tls.isOn() ? service.workerFolder() + "/service.pem" : "";
  tls.publishAt(certificate);
  const std::string of_settings =
      tls.isOn() ? std::filesystem::absolute(settings.tls_cert).string() : "";
  service.begin(
      {everywhere ? fmt::format("{}://127.0.0.1:{}", scheme, port) : url, certificate, of_settings},
      port);
  fmt::print("listening on {}\n", url);
  std::fflush(stdout);
  log.info("listening",
           {{"url", url}, {"store", withoutPassword(settings.store)}, {"version", MUSTER_VERSION}});
}

// The framework opens its sockets after the beginning advice, on the event loops: what has passed
// through all of them comes after that.
void whenListening(std::function<void()> then, std::size_t loop = 0) {
  auto& app = drogon::app();
  app.getLoop()->queueInLoop([then = std::move(then), loop, &app] {
    if (loop == app.getThreadNum()) return then();
    app.getIOLoop(loop)->queueInLoop([then, loop] { whenListening(then, loop + 1); });
  });
}

// What stands between new connections and the framework.
struct Doorway {
  std::shared_ptr<const IncomingRules> rules;
  std::shared_ptr<ConnectionCounter> counter;
  std::shared_ptr<LogThrottle> throttle;
  const Log& log;

  void open(const trantor::TcpConnectionPtr& connection) const {
    ConnectionPlace place = counter->open(connection->peerAddr().toIp());
    if (place.refusal()) {
      if (const auto left_out = throttle->pass()) {
        log.warn("connection refused",
                 {{"detail", place.refusal()->detail}, {"left_out", countOrNothing(*left_out)}});
      }
    }
    if (place.drops()) return connection->forceClose();
    readRequestsOneByOne(connection, rules, std::move(place));
  }
};

// Releases of the framework before 1.9.9 do not tell of connections. With them the limits are the
// framework's own, which refuses without an answer.
template <class Framework>
void watchConnections(Framework& app, const ConnectionLimits& limits, Doorway doorway) {
  if constexpr (requires { app.setConnectionCallback(nullptr); }) {
    app.setMaxConnectionNum(std::numeric_limits<std::size_t>::max());
    app.setConnectionCallback(
        [doorway = std::move(doorway)](const trantor::TcpConnectionPtr& connection) {
          if (connection->connected()) doorway.open(connection);
        });
  } else {
    app.setMaxConnectionNum(limits.all);
    app.setMaxConnectionNumPerIP(limits.per_local_address < limits.all ? limits.per_address : 0);
  }
}

// A connection counts when it is established, which with TLS is after a handshake that a client may
// never begin. So that those leave descriptors for the rest, the last ones are hung up on at once.
template <class Framework>
void keepDescriptors(Framework& app, const ConnectionLimits& limits, std::size_t descriptors) {
  if constexpr (requires { app.setAfterAcceptSockOptCallback(nullptr); }) {
    const auto last = static_cast<int>(std::min<std::size_t>(
        descriptors - limits.descriptors_kept / 2, std::numeric_limits<int>::max()));
    app.setAfterAcceptSockOptCallback([last](int descriptor) {
      if (descriptor >= last) ::shutdown(descriptor, SHUT_RDWR);
    });
  }
}

volatile std::sig_atomic_t hangup_came = 0;

// A hang-up has the settings read again, unless the terminal that we were started in is gone.
class Hangup {
 public:
  Hangup(Service& service, const ReadSettings& read_again, Shutdown& shutdown, const Log& log)
      : service_(service), read_again_(read_again), shutdown_(shutdown), log_(log) {
    std::signal(SIGHUP, [](int) { hangup_came = 1; });
  }

  // On the main loop.
  void look() {
    if (hangup_came == 0) return;
    hangup_came = 0;
    if (had_terminal_ && ::isatty(STDERR_FILENO) == 0) return shutdown_.begin();
    const auto settings = read_again_();
    if (!settings) {
      for (const FieldError& fault : settings.error().fields) {
        log_.error("settings not reloaded", {{"place", fault.pointer}, {"detail", fault.detail}});
      }
      return;
    }
    if (const auto why = service_.reload(*settings)) {
      return log_.error("settings not reloaded", {{"detail", *why}});
    }
    log_.info("settings reloaded", {{"tokens", std::to_string(settings->tokens.size())},
                                    {"templates", std::to_string(settings->templates.size())}});
  }

 private:
  Service& service_;
  const ReadSettings& read_again_;
  Shutdown& shutdown_;
  const Log& log_;
  const bool had_terminal_ = ::isatty(STDERR_FILENO) == 1;
};

void warnOfFewDescriptors(const Settings& settings, const ConnectionLimits& limits,
                          std::size_t descriptors, const Log& log) {
  if (settings.max_connections <= static_cast<std::int64_t>(limits.all)) return;
  log.warn(
      fmt::format("max_connections is {}, but only {} files may be open: {} connections are "
                  "served; raise the limit (ulimit -n, LimitNOFILE)",
                  settings.max_connections, descriptors, limits.all));
}

// On the main loop. Connections that are open keep the certificate they began with. Releases of the
// framework before 1.9.8 serve a new one after a restart only.
template <class Framework>
void reloadTls(Framework& app, TlsIdentity& tls, const Log& log) {
  if constexpr (requires { app.reloadSSLFiles(); }) {
    if (tls.reload()) app.reloadSSLFiles();
  } else if (tls.passOver()) {
    log.warn("the TLS files have changed; restart the service to use them");
  }
}

// With the releases of the framework before 1.9.9 connections broke in our tests.
template <class Framework>
constexpr bool speaksTls(Framework& app) {
  return requires { app.setConnectionCallback(nullptr); };
}

}  // namespace

int runServer(const Settings& settings, const ReadSettings& read_again) {
  const SystemClock clock;
  const Log log(clock, settings.log_level);
  for (const std::string& warning : settings.warnings) log.warn(warning);
  if (const auto obstacle = listenObstacle(settings.listen)) {
    fmt::print(stderr, "muster: cannot listen on {}:{}: {}\n", settings.listen.host,
               settings.listen.port, *obstacle);
    return 2;
  }
  if (!settings.tls_cert.empty() && !speaksTls(drogon::app())) {
    fmt::print(
        stderr,
        "muster: tls_cert is set, but this build has Drogon before 1.9.9, whose TLS cannot be "
        "relied on: leave it out, and put a proxy that speaks TLS in front\n");
    return 2;
  }
  TlsIdentity tls(settings, log, clock);
  if (const auto fault = tls.open()) {
    fmt::print(stderr, "muster: {}\n", *fault);
    return 2;
  }
  auto opened = Service::open(settings, log, clock);
  if (!opened) {
    fmt::print(stderr, "muster: {}\n", opened.error());
    return 2;
  }
  Service& service = **opened;
  if (const auto path = sqlitePath(settings.store)) {
    const auto privacy = sqlitePrivacy(*path);
    if (!privacy.exposure.empty()) {
      log.warn("the store is open to others",
               {{"detail", privacy.exposure}, {"remedy", privacy.remedy}});
    }
  }
  forwardFrameworkLog(log, clock);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of the size of files is like a full disk
  const std::size_t descriptors = raiseDescriptorLimit(settings);
  const ConnectionLimits limits = connectionLimits(settings, descriptors);
  warnOfFewDescriptors(settings, limits, descriptors, log);

  Shutdown shutdown(service, log, clock, settings);
  Hangup hangup(service, read_again, shutdown, log);
  const auto stop = [&shutdown] {
    drogon::app().getLoop()->queueInLoop([&shutdown] { shutdown.begin(); });
  };
  auto& app = drogon::app();
  const auto cores = std::max(1U, std::thread::hardware_concurrency());
  app.setThreadNum(settings.threads > 0 ? static_cast<std::size_t>(settings.threads) : cores)
      .setIdleConnectionTimeout(kIdleSeconds)
      .setClientMaxBodySize(static_cast<std::size_t>(settings.max_body_bytes))
      .setClientMaxMemoryBodySize(static_cast<std::size_t>(settings.max_body_bytes))
      .setUploadPath(kNoUploads)
      .setServerHeaderField("muster")
      .enableDateHeader(true)
      .enableGzip(false)
      .setTermSignalHandler(stop)
      .setIntSignalHandler(stop)
      .addListener(settings.listen.host, settings.listen.port, tls.isOn(), tls.path(), tls.path(),
                   false, tls.commands())
      .registerPreRoutingAdvice([&service](const drogon::HttpRequestPtr& request,
                                           drogon::AdviceCallback&& callback,
                                           drogon::AdviceChainCallback&&) {
        service.gateway().handle(request, std::move(callback));
      })
      .registerBeginningAdvice([&] {
        whenListening([&] { announce(settings, service, tls, log); });
        app.getLoop()->runEvery(kTickSeconds, [&] {
          if (tls.filesChanged()) reloadTls(drogon::app(), tls, log);
        });
        app.getLoop()->runEvery(kTickSeconds, [&service] { service.fireDueTriggers(); });
        app.getLoop()->runEvery(kTickSeconds, [&hangup] { hangup.look(); });
        app.getLoop()->runEvery(kTickSeconds, [&service] { service.writeLoad(); });
        if (settings.ticker) app.getLoop()->runEvery(kTickSeconds, [&service] { service.tick(); });
      });
  watchConnections(
      app, limits,
      {std::make_shared<IncomingRules>(IncomingRules{service.headCheck(), service.buffers(), clock,
                                                     settings.head_timeout, settings.body_timeout}),
       std::make_shared<ConnectionCounter>(limits),
       std::make_shared<LogThrottle>(clock, kRefusalLinesPerSecond), log});
  keepDescriptors(app, limits, descriptors);
  app.run();
  tls.unpublish();
  service.close();
  log.info("stopped");
  return 0;
}

}  // namespace muster
