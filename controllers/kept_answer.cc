#include "controllers/kept_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/json/flow_json.h"
#include "models/json/job_json.h"
#include "models/json/json_doc.h"
#include "models/operations/flows.h"

namespace muster {
namespace {

constexpr std::size_t kMostKept = 64U << 10;

// The jobs that an answer showed. Stored as words: the form, the token of a claim or the id of a
// flow, the ids of the jobs.
struct ShownJobs {
  enum class Form { kNothing, kOne, kList, kClaim, kFlow };
  Form form = Form::kNothing;
  std::string of = {};  // token or id
  std::vector<std::string> ids = {};
};
constexpr std::string_view kOneWord = "job", kListWord = "jobs", kClaimWord = "claim",
                           kFlowWord = "flow";

std::optional<JsonValue> member(JsonValue object, std::string_view name) {
  if (!object.isObject()) return std::nullopt;
  for (auto it = object.begin(); it != object.end(); ++it) {
    if (it.key() == name) return *it;
  }
  return std::nullopt;
}

std::string memberText(JsonValue object, std::string_view name) {
  const auto value = member(object, name);
  return value ? value->string().value_or("") : "";
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

// Of an answer about jobs that were added to a flow.
ShownJobs jobsOfFlow(JsonValue root) {
  const auto flow = member(root, "flow"), jobs = member(root, "jobs");
  if (!flow || !jobs || !jobs->isArray()) return {};
  ShownJobs shown{ShownJobs::Form::kFlow, memberText(*flow, "flow_id")};
  for (auto it = jobs->begin(); it != jobs->end(); ++it) {
    shown.ids.push_back(memberText(*it, "job_id"));
  }
  return shown;
}

ShownJobs shownJobs(std::string_view body) {
  ShownJobs shown;
  const auto doc = JsonDoc::parse(body);
  if (!doc) return shown;
  const JsonValue root = doc->root();
  if (isJob(root)) return {ShownJobs::Form::kOne, {}, {memberText(root, "id")}};
  const auto items = listOfJobs(root);
  if (!items) return jobsOfFlow(root);
  if (items->size() == 0) return shown;
  const bool is_claim = !memberText(root, "worker_status").empty();
  for (auto it = items->begin(); it != items->end(); ++it) {
    if (!isJob(*it)) return {};
    if (is_claim) shown.of = memberText(*it, "lease_token");  // a claim has one for all
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
                    : shown.form == Form::kFlow ? kFlowWord
                                                : kClaimWord);
  if (!shown.of.empty()) words.append(" ").append(shown.of);
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
  if (words[0] == kFlowWord) return {Form::kFlow, words[1], {words.begin() + 2, words.end()}};
  return {};
}

tl::unexpected<Error> gone(std::string_view what, std::string_view id) {
  return fail(ErrorCode::kAnswerNotKept,
              fmt::format("this request was done before, and the {} {} of its answer has been "
                          "removed since",
                          what, id));
}

Outcome flowWrittenAgain(Store& store, int status, const ShownJobs& shown) {
  const auto flow = run(FindFlow{FlowId(shown.of)}, store);
  if (!flow) return gone("flow", shown.of);
  FlowJobsAdded added;
  added.flow = flow->flow;
  for (const std::string& id : shown.ids) {
    const auto job = store.jobs().find(JobId(id));
    if (!job || !job->flow) return gone("job", id);
    added.jobs.push_back({job->flow->name, job->id, job->status});
  }
  JsonWriter out;
  writeFlowJobsAdded(out, added);
  return Reply::json(status, std::move(out));
}

Outcome writtenAgain(Store& store, int status, const ShownJobs& shown) {
  using Form = ShownJobs::Form;
  if (shown.form == Form::kFlow) return flowWrittenAgain(store, status, shown);
  JsonWriter out;
  if (shown.form != Form::kOne) out.beginObject().key("items").beginArray();
  std::string tag;
  for (const std::string& id : shown.ids) {
    const auto job = store.jobs().find(JobId(id));
    if (shown.form == Form::kClaim) {
      const bool is_held =
          job && job->status == JobStatus::kClaimed && job->lease_token == shown.of;
      if (is_held) writeClaimedJob(out, *job);
      continue;
    }
    if (!job) return gone("job", id);
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
