#include "app/webhooks/webhook_call.h"

#include <fmt/format.h>

#include <charconv>
#include <ctime>
#include <memory>

#include "app/http/http_client.h"
#include "models/json/utf8.h"
#include "models/store/standard_webhook.h"

namespace muster {
namespace {

constexpr std::size_t kKeptBodyBytes = 1024;

// A number of seconds or a date (RFC 9110).
std::optional<Seconds> retryAfter(const HttpAnswer& answer, Time now) {
  const auto found = answer.headers.find("retry-after");
  if (found == answer.headers.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t seconds = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (fault == std::errc() && end == text.data() + text.size() && seconds >= 0 &&
      seconds < 1'000'000'000) {
    return Seconds(seconds);
  }
  std::tm parts{};
  if (::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) == nullptr) return std::nullopt;
  return std::chrono::ceil<Seconds>(Time(Seconds(::timegm(&parts))) - now);
}

std::string signatures(const WebhookMessage& message, const std::string& timestamp) {
  std::string all;
  for (const std::string& secret : message.secrets) {
    const auto key = standardKey(secret);
    if (!key) continue;
    if (!all.empty()) all += ' ';
    all += standardSignature(*key, message.id, timestamp, message.body);
  }
  return all;
}

// What is wrong with an answer that is not 2xx.
std::string complaint(const HttpAnswer& answer) {
  const bool is_redirect = answer.status >= 300 && answer.status < 400;
  return fmt::format("answered {}{}", answer.status,
                     is_redirect ? "; redirects are not followed" : "");
}

class Receiver {
 public:
  Receiver(const std::string& url, const AddressGuard& guard, Millis timeout, const Clock& clock)
      : place_(parseHttpUrl(url)), timeout_(timeout), clock_(clock) {
    if (!place_) return;
    client_ = std::make_unique<HttpClient>(
        *place_, [this, &guard, host = place_->host](const sockaddr& address) {
          refused_ = !guard.allows(host, address);
          return !refused_;
        });
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  WebhookTry post(const WebhookMessage& message, const std::stop_token& stop) {
    WebhookTry made;
    if (!client_) {
      made.error = "the URL is not one of http or https";
      return made;
    }
    refused_ = false;
    const auto began = clock_.monotonic();
    const std::string timestamp =
        std::to_string(std::chrono::floor<Seconds>(clock_.now()).time_since_epoch().count());
    const auto answer =
        client_->send({.method = "POST",
                       .body = message.body,
                       .headers = {{"Content-Type", "application/json"},
                                   {"webhook-id", message.id},
                                   {"webhook-timestamp", timestamp},
                                   {"webhook-signature", signatures(message, timestamp)}},
                       .timeout = timeout_,
                       .given_up = [&stop] { return stop.stop_requested(); },
                       .most_body_bytes = kKeptBodyBytes});
    made.took = std::chrono::duration_cast<Millis>(clock_.monotonic() - began);
    if (refused_) {
      made.error = "the address is private; webhook_allow in the settings of the service allows it";
    } else if (!answer) {
      made.error = answer.error().what;
    } else {
      made.status = answer->status;
      made.response_body = storableText(answer->body.substr(0, kKeptBodyBytes));
      made.retry_after = retryAfter(*answer, clock_.now());
      if (!made.delivered()) made.error = complaint(*answer);
    }
    return made;
  }

 private:
  const std::optional<HttpUrl> place_;
  const Millis timeout_;
  const Clock& clock_;
  bool refused_ = false;
  std::unique_ptr<HttpClient> client_;
};

}  // namespace

WebhookConnect callsOverNetwork(AddressGuard guard, Millis timeout, const Clock& clock) {
  auto shared = std::make_shared<const AddressGuard>(std::move(guard));
  return [shared, timeout, &clock](const std::string& url) -> WebhookPost {
    auto receiver = std::make_shared<Receiver>(url, *shared, timeout, clock);
    return [shared, receiver](const WebhookMessage& message, const std::stop_token& stop) {
      return receiver->post(message, stop);
    };
  };
}

}  // namespace muster
