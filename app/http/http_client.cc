#include "app/http/http_client.h"

#include <fmt/format.h>

#include <array>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/optional/optional.hpp>
#include <cctype>
#include <ctime>
#include <limits>

namespace muster {
namespace {

namespace http = boost::beast::http;

// A body that grows by what has come. The library's own makes room for as much as Content-Length
// announces, and what is announced may be any number.
struct ReceivedBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(http::header<is_request, Fields>&, std::string& body) : body_(body) {}

    static void init(const boost::optional<std::uint64_t>&, boost::beast::error_code& error) {
      error = {};
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::beast::error_code& error) {
      const std::size_t before = body_.size();
      for (const auto part : boost::beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(part.data()), part.size());
      }
      error = {};
      return body_.size() - before;
    }
    static void finish(boost::beast::error_code& error) { error = {}; }

   private:
    std::string& body_;
  };
};
using Parser = http::response_parser<ReceivedBody>;

constexpr std::size_t kMaxHeaderBytes = 64U << 10;
constexpr std::size_t kMaxUnread = 64U << 10;  // of a line that has not ended yet
constexpr int kMaxInterim = 16;                // answers before the answer: 100, 103

std::string loweredName(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string textOf(const HttpRequest& request, const HttpUrl& url) {
  std::string text =
      fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: muster/{}\r\n", request.method,
                  url.path, url.path.empty() && request.path.empty() ? "/" : request.path,
                  url.authority(), MUSTER_VERSION);
  for (const auto& [name, value] : request.headers) {
    if (value.find_first_of("\r\n") != std::string::npos) {
      throw WireError(fmt::format("the header {} holds a line break", name));
    }
    text += fmt::format("{}: {}\r\n", name, value);
  }
  if (request.body || request.method != "GET") {
    text += fmt::format("Content-Length: {}\r\n", request.body ? request.body->size() : 0);
  }
  return text + "\r\n" + request.body.value_or("");
}

void takeHead(const Parser& parser, HttpAnswer& answer) {
  answer.status = parser.get().result_int();
  for (const auto& field : parser.get()) {
    const auto name = field.name_string();
    const auto value = field.value();
    answer.headers[loweredName({name.data(), name.size()})] = {value.data(), value.size()};
  }
}

// The answers to one request, interim ones left out, as their bytes come in.
class Reading {
 public:
  Reading(const HttpRequest& request, const std::function<bool(std::string_view)>& on_bytes)
      : request_(request), on_bytes_(on_bytes) {
    begin();
  }

  // False when the answer is whole, or enough of it.
  bool take(std::string_view bytes) {
    pending_.append(bytes);
    while (!pending_.empty() && !parser_->is_done()) {
      boost::beast::error_code error;
      const std::size_t used =
          parser_->put(boost::asio::const_buffer(pending_.data(), pending_.size()), error);
      pending_.erase(0, used);
      if (error == http::error::need_more) {
        if (pending_.size() > kMaxUnread) throw WireError("the answer has a line without an end");
        break;
      }
      if (error) throw WireError("what answers there does not speak HTTP");
      if (parser_->is_done() && parser_->get().result_int() < 200) {
        if (++interim_ > kMaxInterim) throw WireError("the answer does not come to its point");
        begin();
        continue;
      }
      if (!handOver()) return false;
    }
    return !parser_->is_done();
  }

  void close() {
    boost::beast::error_code error;
    if (parser_->is_header_done()) parser_->put_eof(error);
    if (!parser_->is_done() || error) throw WireError("the connection broke");
    handOver();
  }

  HttpAnswer answer() {
    takeHead(*parser_, answer_);
    if (!on_bytes_ || !answer_.ok()) answer_.body = std::move(parser_->get().body());
    return std::move(answer_);
  }

  // The connection can carry another request.
  bool reusable() const { return parser_->is_done() && parser_->keep_alive() && pending_.empty(); }

 private:
  void begin() {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
    parser_->eager(true);
    parser_->skip(request_.method == "HEAD");
  }

  bool handOver() {
    if (!parser_->is_header_done()) return true;
    if (request_.head_only) return false;
    if (parser_->get().body().size() >= request_.most_body_bytes) return false;
    if (!on_bytes_) return true;
    const unsigned status = parser_->get().result_int();
    if (status < 200 || status >= 300) return true;
    std::string& body = parser_->get().body();
    const bool more = body.empty() || on_bytes_(body);
    body.clear();
    return more;
  }

  const HttpRequest& request_;
  const std::function<bool(std::string_view)>& on_bytes_;
  std::optional<Parser> parser_;
  std::string pending_;
  int interim_ = 0;
  HttpAnswer answer_;
};

}  // namespace

std::optional<Time> HttpAnswer::date() const {
  const auto found = headers.find("date");
  if (found == headers.end()) return std::nullopt;
  std::tm parts{};
  if (::strptime(found->second.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) == nullptr) {
    return std::nullopt;
  }
  return Time(Seconds(::timegm(&parts)));
}

HttpClient::HttpClient(HttpUrl url, Wire::AddressRule allowed, TlsFiles files)
    : url_(std::move(url)), allowed_(std::move(allowed)), files_(std::move(files)) {}

tl::expected<HttpAnswer, Unreachable> HttpClient::send(const HttpRequest& request) {
  return run(request,
             {std::chrono::steady_clock::now() + request.timeout, std::nullopt, request.given_up},
             {});
}

tl::expected<HttpAnswer, Unreachable> HttpClient::stream(const HttpRequest& request, Millis silence,
                                                         const TakeBytes& on_bytes) {
  return run(request, {Patience::Moment::max(), silence, request.given_up}, on_bytes);
}

tl::expected<HttpAnswer, Unreachable> HttpClient::run(const HttpRequest& request,
                                                      const Patience& patience,
                                                      const TakeBytes& on_bytes) {
  try {
    return exchange(request, patience, on_bytes);
  } catch (const WireTimeout&) {
    return tl::unexpected(
        Unreachable{fmt::format("no answer to {} {} in time", request.method, request.path)});
  } catch (const UntrustedCertificate& error) {
    return tl::unexpected(Unreachable{error.what(), false, true});
  } catch (const WireError& error) {
    return tl::unexpected(Unreachable{error.what(), error.refused});
  }
}

HttpAnswer HttpClient::exchange(const HttpRequest& request, const Patience& patience,
                                const TakeBytes& on_bytes) {
  const std::string text = textOf(request, url_);
  // A connection is kept only when the exchange came to its end.
  std::unique_ptr<Wire> wire = std::move(wire_);
  if (!wire || wire->isStale()) wire = std::make_unique<Wire>(url_, allowed_, files_, patience);
  wire->write(text, patience);
  Reading reading(request, on_bytes);
  std::array<char, 16384> room;
  for (bool answers = false;; answers = true) {
    const std::size_t count = wire->read(room.data(), room.size(), patience);
    if (count == 0) {
      if (!answers && !url_.tls) {
        throw WireError(
            "the connection broke before an answer; what speaks TLS has a URL https://…");
      }
      reading.close();
      return reading.answer();
    }
    if (!reading.take({room.data(), count})) break;
  }
  if (reading.reusable()) wire_ = std::move(wire);
  return reading.answer();
}

}  // namespace muster
