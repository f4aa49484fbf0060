#include "bench/conversations.h"

#include <fmt/format.h>

#include <algorithm>

#include <vector>

namespace muster::bench {
namespace {

constexpr std::size_t kPayloadBytes = 256;
constexpr int kBatch = 1000;
constexpr int kClaim = 100;

constexpr std::string_view kId = R"("id":")";
constexpr std::string_view kToken = R"("lease_token":")";

class Repeat : public Conversation {
 public:
  Repeat(const std::string& request, int status, const std::string& must_contain)
      : request_(request), status_(status), must_contain_(must_contain) {}
  std::string_view next() override { return request_; }
  bool heard(int status, std::string_view body) override {
    return status == status_ &&
           (must_contain_.empty() || body.find(must_contain_) != std::string_view::npos);
  }

 private:
  const std::string& request_;
  const int status_;
  const std::string& must_contain_;
};

std::string doneReport(std::string_view id, std::string_view token) {
  return fmt::format(R"({{"job_id":"{}","lease_token":"{}","outcome":"done"}})", id, token);
}

class ClaimAndKeep : public Conversation {
 public:
  ClaimAndKeep(const std::string& pool, int connection, Held& held)
      : claim_(postRequest(fmt::format("/v1/pools/{}/claim", pool),
                           fmt::format(R"({{"worker_id":"bench-{}"}})", connection))),
        held_(held) {}

  std::string_view next() override { return claim_; }

  bool heard(int status, std::string_view body) override {
    std::size_t at = 0;
    const auto id = quoted(body, kId, at);
    const auto token = quoted(body, kToken, at);
    if (status != 200 || token.empty()) return false;
    const std::lock_guard lock(held_.mutex);
    held_.jobs.push_back({std::string(id), std::string(token)});
    return true;
  }

 private:
  const std::string claim_;
  Held& held_;
};

std::string completeRequest(std::string_view id, std::string_view token) {
  return postRequest(fmt::format("/v1/jobs/{}/complete", id),
                     fmt::format(R"({{"lease_token":"{}"}})", token));
}

// Those that are held are taken in slices.
class Held100 : public Conversation {
 public:
  Held100(std::string pool, std::span<const HeldJob> jobs, std::atomic<std::size_t>& next)
      : pool_(std::move(pool)), jobs_(jobs), next_(next) {}
  std::string_view next() override {
    const std::size_t first = next_.fetch_add(kClaim);
    request_ = doneReports(pool_, jobs_.subspan(first, kClaim));
    return request_;
  }
  bool heard(int status, std::string_view body) override {
    return status == 200 && body.find(R"("problem")") == std::string_view::npos;
  }

 private:
  const std::string pool_;
  const std::span<const HeldJob> jobs_;
  std::atomic<std::size_t>& next_;
  std::string request_;
};

class HeldOne : public Conversation {
 public:
  HeldOne(std::span<const HeldJob> jobs, std::atomic<std::size_t>& next)
      : jobs_(jobs), next_(next) {}
  std::string_view next() override {
    const HeldJob& job = jobs_[next_.fetch_add(1)];
    request_ = completeRequest(job.id, job.token);
    return request_;
  }
  bool heard(int status, std::string_view) override { return status == 200; }

 private:
  const std::span<const HeldJob> jobs_;
  std::atomic<std::size_t>& next_;
  std::string request_;
};

class WorkOff : public Conversation {
 public:
  WorkOff(const std::string& pool, int connection, WorkedOff& work)
      : reports_path_(fmt::format("/v1/pools/{}/reports", pool)),
        worker_(fmt::format(R"({{"worker_id":"bench-{}","wait_seconds":1}})", connection)),
        claim_(postRequest(fmt::format("/v1/pools/{}/claim", pool), worker_)),
        work_(work) {}

  std::string_view next() override { return report_.empty() ? claim_ : report_; }

  bool heard(int status, std::string_view body) override {
    const bool reported = !report_.empty();
    report_.clear();
    if (reported && work_.done.fetch_add(1) + 1 == work_.jobs) {
      work_.finished = std::chrono::steady_clock::now();
      work_.over = true;
    }
    std::size_t at = 0;
    if (reported) {
      if (!work_.in_one_trip) return status == 200;
      at = std::min(body.find(R"("claimed":)"), body.size());
    }
    const auto id = quoted(body, kId, at);
    const auto token = quoted(body, kToken, at);
    if (!token.empty()) report_ = report(id, token);
    return status == 200;
  }

 private:
  std::string report(std::string_view id, std::string_view token) const {
    if (!work_.in_one_trip) return completeRequest(id, token);
    return postRequest(reports_path_, fmt::format(R"({{"items":[{}],"claim":{}}})",
                                                  doneReport(id, token), worker_));
  }

  const std::string reports_path_;
  const std::string worker_;
  const std::string claim_;
  std::string report_;  // empty: a claim is next
  WorkedOff& work_;
};

class ClaimAndComplete : public Conversation {
 public:
  ClaimAndComplete(const std::string& pool, int connection)
      : claim_(postRequest(fmt::format("/v1/pools/{}/claim", pool),
                           fmt::format(R"({{"worker_id":"bench-{}"}})", connection))) {}

  std::string_view next() override { return complete_.empty() ? claim_ : complete_; }

  bool heard(int status, std::string_view body) override {
    if (!complete_.empty()) {
      complete_.clear();
      return status == 200;
    }
    std::size_t at = 0;
    const auto id = quoted(body, kId, at);
    const auto token = quoted(body, kToken, at);
    if (status != 200 || token.empty()) return false;
    complete_ = completeRequest(id, token);
    return true;
  }

 private:
  const std::string claim_;
  std::string complete_;  // empty: a claim is next
};

class BulkLoop : public Conversation {
 public:
  BulkLoop(const std::string& pool, int connection, std::atomic<std::int64_t>& done)
      : reports_path_(fmt::format("/v1/pools/{}/reports", pool)),
        push_(postRequest(fmt::format("/v1/pools/{}/jobs/batch", pool), batchBody(kBatch))),
        claim_(fmt::format(R"("claim":{{"worker_id":"bench-{}","max":{}}})", connection, kClaim)),
        done_(done) {}

  std::string_view next() override {
    if (step_ == 0) return push_;
    request_ = postRequest(reports_path_, fmt::format(R"({{"items":[{}],{}}})", reports_, claim_));
    return request_;
  }

  bool heard(int status, std::string_view body) override {
    const bool pushed = step_ == 0;
    step_ = (step_ + 1) % (kBatch / kClaim + 1);
    if (pushed) return status == 201;
    done_ += held_;
    held_ = 0;
    reports_.clear();
    auto at = body.find(R"("claimed":)");
    if (status != 200 || at == std::string_view::npos) return false;
    for (;;) {
      const auto id = quoted(body, kId, at);
      if (id.empty()) break;
      const auto token = quoted(body, kToken, at);
      if (held_ > 0) reports_ += ',';
      reports_ += doneReport(id, token);
      ++held_;
    }
    return held_ == kClaim;
  }

 private:
  const std::string reports_path_;
  const std::string push_;
  const std::string claim_;
  std::atomic<std::int64_t>& done_;
  std::string request_;
  std::string reports_;  // of the jobs it holds
  int held_ = 0;
  int step_ = 0;  // 0: a push is next
};

}  // namespace

std::string_view quoted(std::string_view body, std::string_view key, std::size_t& at) {
  const auto found = body.find(key, at);
  if (found == std::string_view::npos) return {};
  const auto begin = found + key.size();
  const auto end = body.find('"', begin);
  if (end == std::string_view::npos) return {};
  at = end;
  return body.substr(begin, end - begin);
}

std::string doneReports(const std::string& pool, std::span<const HeldJob> jobs) {
  std::string items;
  for (const HeldJob& job : jobs) {
    if (!items.empty()) items += ',';
    items += doneReport(job.id, job.token);
  }
  return postRequest(fmt::format("/v1/pools/{}/reports", pool),
                     fmt::format(R"({{"items":[{}]}})", items));
}

std::string payload() { return '"' + std::string(kPayloadBytes - 2, 'x') + '"'; }

std::string jobBody(const std::string& extra) {
  return fmt::format(R"({{"data":{}{}}})", payload(), extra);
}

std::string batchBody(int jobs, const std::string& extra) {
  std::string items;
  for (int i = 0; i < jobs; ++i) {
    if (i > 0) items += ',';
    items += jobBody(extra);
  }
  return fmt::format(R"({{"items":[{}]}})", items);
}

std::string postRequest(const std::string& path, const std::string& body) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      path, body.size(), body);
}

MakeConversation repeat(std::string request, int status, std::string must_contain) {
  return [request = std::make_shared<const std::string>(std::move(request)), status,
          text = std::make_shared<const std::string>(std::move(must_contain))](int) {
    return std::make_unique<Repeat>(*request, status, *text);
  };
}

MakeConversation claimAndComplete(const std::string& pool) {
  return [pool](int connection) { return std::make_unique<ClaimAndComplete>(pool, connection); };
}

MakeConversation claimAndKeep(const std::string& pool, Held& held) {
  return [pool, &held](int connection) {
    return std::make_unique<ClaimAndKeep>(pool, connection, held);
  };
}

MakeConversation completeHeld(std::span<const HeldJob> jobs, std::atomic<std::size_t>& next) {
  return [jobs, &next](int) { return std::make_unique<HeldOne>(jobs, next); };
}

MakeConversation reportHeld(const std::string& pool, std::span<const HeldJob> jobs,
                            std::atomic<std::size_t>& next) {
  return [pool, jobs, &next](int) { return std::make_unique<Held100>(pool, jobs, next); };
}

MakeConversation workOff(const std::string& pool, WorkedOff& work) {
  return
      [pool, &work](int connection) { return std::make_unique<WorkOff>(pool, connection, work); };
}

MakeConversation bulkLoop(const std::string& pool, std::atomic<std::int64_t>& done) {
  return
      [pool, &done](int connection) { return std::make_unique<BulkLoop>(pool, connection, done); };
}

}  // namespace muster::bench
