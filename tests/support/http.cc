#include "tests/support/http.h"

#include <json/reader.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

#include "tests/support/eventually.h"

namespace muster::test {
namespace {

std::string lowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

std::size_t takeBody(char* bytes, std::size_t size, std::size_t count, void* to) {
  static_cast<Reply*>(to)->body.append(bytes, size * count);
  return size * count;
}

std::size_t takeHeader(char* bytes, std::size_t size, std::size_t count, void* to) {
  const std::string_view line(bytes, size * count);
  Reply& reply = *static_cast<Reply*>(to);
  if (line.starts_with("HTTP/")) reply.headers.clear();
  if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
    reply.headers.emplace_back(lowerCase(std::string(line.substr(0, colon))),
                               trimmed(line.substr(colon + 1)));
  }
  return size * count;
}

using HeaderLines = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// Keep the result until the transfer has ended.
[[nodiscard]] HeaderLines prepare(CURL* curl, const std::string& url, const Request& request,
                                  Reply& reply) {
  curl_slist* lines = curl_slist_append(nullptr, "Expect:");
  bool typed = false;
  for (const auto& [name, value] : request.headers) {
    lines = curl_slist_append(lines, (name + (value.empty() ? ";" : ": " + value)).c_str());
    typed = typed || lowerCase(name) == "content-type";
  }
  if (!typed) lines = curl_slist_append(lines, "Content-Type: application/json");
  curl_easy_reset(curl);
  curl_easy_setopt(curl, CURLOPT_URL, (url + request.path).c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, lines);
  if (request.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, takeBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, takeHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &reply);
  return {lines, curl_slist_free_all};
}

Json::Value parsed(const std::string& body) {
  static const Json::CharReaderBuilder builder = [] {
    Json::CharReaderBuilder made;
    Json::CharReaderBuilder::strictMode(&made.settings_);
    made["strictRoot"] = false;
    return made;
  }();
  Json::Value value;
  std::string errors;
  const std::unique_ptr<Json::CharReader> reader(builder.newCharReader());
  if (!reader->parse(body.data(), body.data() + body.size(), &value, &errors)) return {};
  return value;
}

void useFiles(CURL* curl, const HttpsFiles& files) {
  const auto set = [curl](CURLoption option, const std::string& file) {
    if (!file.empty()) curl_easy_setopt(curl, option, file.c_str());
  };
  set(CURLOPT_CAINFO, files.ca);
  set(CURLOPT_SSLCERT, files.certificate);
  set(CURLOPT_SSLKEY, files.key);
}

void conclude(CURL* curl, CURLcode code, Reply& reply) {
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (code != CURLE_OK) {
    reply.failure = curl_easy_strerror(code);
    return;
  }
  reply.status = static_cast<int>(status);
  reply.json = parsed(reply.body);
}

CURL* newHandle() {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL* handle = ready == CURLE_OK ? curl_easy_init() : nullptr;
  if (handle == nullptr) throw std::runtime_error("no curl handle");
  return handle;
}

}  // namespace

bool Reply::hasHeader(std::string_view name) const {
  return std::any_of(headers.begin(), headers.end(),
                     [name](const auto& header) { return header.first == name; });
}

std::string Reply::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::string Reply::code() const {
  return json.isObject() && json["code"].isString() ? json["code"].asString() : std::string();
}

std::string Reply::raw(const std::string& member) const {
  if (!json.isObject() || !json.isMember(member)) return "(absent)";
  const Json::Value& value = json[member];
  const auto start = static_cast<std::size_t>(value.getOffsetStart());
  return body.substr(start, static_cast<std::size_t>(value.getOffsetLimit()) - start);
}

std::ostream& operator<<(std::ostream& out, const Reply& reply) {
  constexpr std::size_t kShown = 2000;
  if (reply.status == 0) return out << "no answer: " << reply.failure;
  return out << reply.status << " " << reply.header("content-type") << " "
             << reply.body.substr(0, kShown);
}

Http::Http(std::string url, HttpsFiles files)
    : url_(std::move(url)), files_(std::move(files)), curl_(newHandle(), curl_easy_cleanup) {}

Reply Http::send(const Request& request) {
  constexpr long kSeconds = 60;
  Reply reply;
  const HeaderLines lines = prepare(curl_.get(), url_, request, reply);
  curl_easy_setopt(curl_.get(), CURLOPT_TIMEOUT, kSeconds);
  useFiles(curl_.get(), files_);
  if (std::exchange(reconnects_, false)) curl_easy_setopt(curl_.get(), CURLOPT_FRESH_CONNECT, 1L);
  if (most_tls_ != 0) {
    curl_easy_setopt(curl_.get(), CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2 | most_tls_);
  }
  std::array<char, CURL_ERROR_SIZE> why{};
  curl_easy_setopt(curl_.get(), CURLOPT_ERRORBUFFER, why.data());
  conclude(curl_.get(), curl_easy_perform(curl_.get()), reply);
  curl_easy_setopt(curl_.get(), CURLOPT_ERRORBUFFER, nullptr);
  if (!reply.failure.empty()) reply.failure += std::string("; ") + why.data();
  return reply;
}

Reply Http::get(const std::string& path, Headers headers) {
  return send({"GET", path, "", std::move(headers)});
}
Reply Http::post(const std::string& path, std::string body, Headers headers) {
  return send({"POST", path, std::move(body), std::move(headers)});
}
Reply Http::put(const std::string& path, std::string body, Headers headers) {
  return send({"PUT", path, std::move(body), std::move(headers)});
}
Reply Http::patch(const std::string& path, std::string body, Headers headers) {
  return send({"PATCH", path, std::move(body), std::move(headers)});
}
Reply Http::del(const std::string& path, Headers headers) {
  return send({"DELETE", path, "", std::move(headers)});
}

struct PendingReply::Transfer {
  Request request;
  Reply reply;
  bool done = false;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy{newHandle(), curl_easy_cleanup};
  std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi{curl_multi_init(),
                                                              curl_multi_cleanup};
  HeaderLines lines{nullptr, curl_slist_free_all};

  void advance(int wait_ms) {
    int running = 0;
    curl_multi_poll(multi.get(), nullptr, 0, wait_ms, nullptr);
    curl_multi_perform(multi.get(), &running);
    int queued = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi.get(), &queued)) {
      if (message->msg != CURLMSG_DONE) continue;
      done = true;
      conclude(easy.get(), message->data.result, reply);
    }
  }
};

PendingReply::PendingReply(const std::string& url, const Request& request)
    : transfer_(std::make_unique<Transfer>()) {
  transfer_->request = request;
  transfer_->lines = prepare(transfer_->easy.get(), url, transfer_->request, transfer_->reply);
  curl_multi_add_handle(transfer_->multi.get(), transfer_->easy.get());
  transfer_->advance(0);
}

PendingReply::~PendingReply() {
  curl_multi_remove_handle(transfer_->multi.get(), transfer_->easy.get());
}

bool PendingReply::until(std::chrono::milliseconds deadline,
                         const std::function<bool(const Reply&)>& condition) {
  constexpr int kStepMs = 20;
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition(transfer_->reply)) {
    if (transfer_->done || std::chrono::steady_clock::now() >= end) return false;
    transfer_->advance(kStepMs);
  }
  return true;
}

bool PendingReply::finished(std::chrono::milliseconds deadline) {
  return until(deadline, [this](const Reply&) { return transfer_->done; });
}

const Reply& PendingReply::reply() const { return transfer_->reply; }

}  // namespace muster::test
