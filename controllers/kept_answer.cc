#include "controllers/kept_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/json/job_json.h"
#include "models/json/json_doc.h"

namespace muster {
namespace {

constexpr std::size_t kMostKept = 64U << 10;

// The jobs that an answer showed. Stored as words: the form, the token of a claim, the ids.
struct ShownJobs {
  enum class Form { kNothing, kOne, kList, kClaim };
  Form form = Form::kNothing;
  std::string lease_token = {};
  std::vector<std::string> ids = {};
};
constexpr std::string_view kOneWord = "job", kListWord = "jobs", kClaimWord = "claim";

std::string memberText(JsonValue object, std::string_view name) {
  if (!object.isObject()) return {};
  for (auto it = object.begin(); it != object.end(); ++it) {
    if (it.key() == name) return (*it).string().value_or("");
  }
  return {};
}

bool isJob(JsonValue value) {
  return !memberText(value, "id").empty() && !memberText(value, "effect_key").empty();
}

// The items of an answer that has a list of jobs, and beside it at most the status of a worker.
std::optional<JsonValue> listOfJobs(JsonValue root) {
  std::optional<JsonValue> items;
  if (!root.isObject()) return items;
  for (auto it = root.begin(); it != root.end(); ++it) {
    if (it.key() == "items" && (*it).isArray()) {
      items = *it;
    } else if (it.key() != "worker_status") {
      return std::nullopt;
    }
  }
  return items;
}

ShownJobs shownJobs(std::string_view body) {
  ShownJobs shown;
  const auto doc = JsonDoc::parse(body);
  if (!doc) return shown;
  const JsonValue root = doc->root();
  if (isJob(root)) return {ShownJobs::Form::kOne, {}, {memberText(root, "id")}};
  const auto items = listOfJobs(root);
  if (!items || items->size() == 0) return shown;
  const bool is_claim = !memberText(root, "worker_status").empty();
  for (auto it = items->begin(); it != items->end(); ++it) {
    if (!isJob(*it)) return {};
    if (is_claim) shown.lease_token = memberText(*it, "lease_token");  // a claim has one for all
    shown.ids.push_back(memberText(*it, "id"));
  }
  shown.form = is_claim ? ShownJobs::Form::kClaim : ShownJobs::Form::kList;
  return shown;
}

std::string asWords(const ShownJobs& shown) {
  using Form = ShownJobs::Form;
  if (shown.form == Form::kNothing) return {};
  std::string words(shown.form == Form::kOne    ? kOneWord
                    : shown.form == Form::kList ? kListWord
                                                : kClaimWord);
  if (shown.form == Form::kClaim) words.append(" ").append(shown.lease_token);
  for (const std::string& id : shown.ids) words.append(" ").append(id);
  return words;
}

ShownJobs fromWords(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  using Form = ShownJobs::Form;
  if (words.size() < 2) return {};
  if (words[0] == kOneWord) return {Form::kOne, {}, {words[1]}};
  if (words[0] == kListWord) return {Form::kList, {}, {words.begin() + 1, words.end()}};
  if (words[0] == kClaimWord) return {Form::kClaim, words[1], {words.begin() + 2, words.end()}};
  return {};
}

Outcome writtenAgain(Store& store, int status, const ShownJobs& shown) {
  using Form = ShownJobs::Form;
  JsonWriter out;
  if (shown.form != Form::kOne) out.beginObject().key("items").beginArray();
  std::string tag;
  for (const std::string& id : shown.ids) {
    const auto job = store.jobs().find(JobId(id));
    if (shown.form == Form::kClaim) {
      const bool is_held =
          job && job->status == JobStatus::kClaimed && job->lease_token == shown.lease_token;
      if (is_held) writeClaimedJob(out, *job);
      continue;
    }
    if (!job) {
      return fail(ErrorCode::kAnswerNotKept,
                  fmt::format("this request was done before, and the job {} of its answer has been "
                              "removed since",
                              id));
    }
    writeJob(out, *job);
    tag = etag(job->version);
  }
  if (shown.form != Form::kOne) out.endArray();
  if (shown.form == Form::kClaim) out.field("worker_status", worker_status::kActive);
  if (shown.form != Form::kOne) out.endObject();
  Reply reply = Reply::json(status, std::move(out));
  if (shown.form == Form::kOne) reply.with("ETag", std::move(tag));
  return reply;
}

}  // namespace

// A negative status tells an answer that has to be written again.
StoredAnswer keptAnswer(const Reply& reply) {
  if (reply.body.size() <= kMostKept) return {reply.status, reply.body, reply.header("ETag")};
  return {-reply.status, asWords(shownJobs(reply.body))};
}

Outcome replayedAnswer(Store& store, const StoredAnswer& kept) {
  Outcome outcome;
  if (kept.status > 0) {
    outcome = Reply{kept.status, kept.body};
    if (!kept.etag.empty()) outcome->with("ETag", kept.etag);
  } else if (const ShownJobs shown = fromWords(kept.body);
             shown.form != ShownJobs::Form::kNothing) {
    outcome = writtenAgain(store, -kept.status, shown);
  } else {
    return fail(ErrorCode::kAnswerNotKept,
                fmt::format("this request was done before and answered with {}; the answer was "
                            "larger than {} bytes and is not kept",
                            -kept.status, kMostKept));
  }
  if (outcome) outcome->with("Idempotency-Replayed", "true");
  return outcome;
}

}  // namespace muster
