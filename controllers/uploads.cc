#include "controllers/uploads.h"

#include <fmt/format.h>

#include <utility>

#include "controllers/resource_access.h"
#include "models/store/random.h"

namespace muster {
namespace {

// Has the function called on the event loop of the present request, whoever calls what this gives.
template <class T>
std::function<void(T)> onThisLoop(std::function<void(T)> then) {
  Executor& loop = currentLoop();
  return [&loop, then = std::move(then)](T value) {
    auto kept = std::make_shared<T>(std::move(value));
    loop.post({[then, kept] { then(std::move(*kept)); }});
  };
}

// Whether bytes can come for it at all; what is true in the end the store says.
bool takesBytes(const Resource& resource) {
  const auto kind = resource.holder.kind;
  return isLiving(resource.state) && !resource.stored &&
         (kind == Holder::Kind::kStore || kind == Holder::Kind::kHost);
}

// The next part may come with the answer, so the file is free before it.
void answer(const IncomingPart& part, Outcome outcome) {
  if (part.file) part.file->unlock();
  part.respond(std::move(outcome));
}

}  // namespace

void Uploads::take(IncomingPart taken) {
  auto part = std::make_shared<IncomingPart>(std::move(taken));
  auto found = std::make_shared<Result<Resource>>(fail(ErrorCode::kInternal, "was not looked for"));
  gateway_.read(
      part->request,
      [part, found](Store& store) -> Outcome {
        *found = run(FindResource{part->name, part->by}, store);
        return Reply();
      },
      [this, part, found](Outcome outcome) {
        if (!outcome) return answer(*part, std::move(outcome));
        if (!*found) return answer(*part, tl::unexpected(std::move(*found).error()));
        part->resource = std::move(**found);
        part->name = part->resource.uid;
        takesBytes(part->resource) ? open(part) : begin(part);
      });
}

void Uploads::open(const PartPtr& part) {
  writer_.open(part->resource.uid,
               onThisLoop<Result<UploadFilePtr>>([this, part](Result<UploadFilePtr> file) {
                 if (!file) return answer(*part, tl::unexpected(std::move(file).error()));
                 part->file = *std::move(file);
                 begin(part);
               }));
}

void Uploads::begin(const PartPtr& part) {
  const auto bytes = static_cast<std::int64_t>(part->request->body().size());
  step<BeginPart>(*part, {part->name, part->offset, bytes, part->by}, Isolation::kAlone,
                  [this, part](Result<Resource> begun) {
                    if (begun && part->file) {
                      part->resource = *std::move(begun);
                      return write(part);
                    }
                    if (begun) {  // it has begun anew since we looked
                      part->resource = *std::move(begun);
                      return open(part);
                    }
                    const Error& error = begun.error();
                    const bool takes_none = error.code == ErrorCode::kContentExists ||
                                            error.code == ErrorCode::kResourceGone ||
                                            error.code == ErrorCode::kNotStored;
                    if (part->file && takes_none) writer_.remove(part->resource.uid);
                    if (error.code == ErrorCode::kContentExists) return compare(part, error);
                    answer(*part, tl::unexpected(error));
                  });
}

void Uploads::write(const PartPtr& part) {
  const std::string_view bytes = part->request->body();
  const std::int64_t from = part->offset ? part->resource.upload_offset.value_or(0) : 0;
  const std::int64_t to = from + static_cast<std::int64_t>(bytes.size());
  const auto& size = part->resource.size_bytes;
  part->is_last = part->is_last || (size && to >= *size);
  part->offset = from;
  writer_.write({part->file, from, bytes, part->sha256, part->is_last, part->request},
                onThisLoop<Result<PartWriter::Written>>(
                    [this, part](const Result<PartWriter::Written>& written) {
                      if (written) {
                        metrics_.countBlobWritten(part->request->body().size());
                        return tell(part, *written);
                      }
                      const Error& error = written.error();
                      if (error.code == ErrorCode::kWrongOffset) return beginAnew(part);
                      answer(*part, tl::unexpected(error));
                    }));
}

void Uploads::tell(const PartPtr& part, const PartWriter::Written& written) {
  if (part->is_last) return finish(part, written);
  gateway_.write(
      part->request,
      [op = AdvanceUpload{part->resource.uid, *part->offset, written.to}, status = part->status](
          Store& store) { return resourceReply(run(op, store), store, status); },
      [part](Outcome outcome) { answer(*part, std::move(outcome)); }, Isolation::kShared);
}

void Uploads::finish(const PartPtr& part, const PartWriter::Written& written) {
  gateway_.write(
      part->request,
      [op = FinishUpload{part->resource.uid, written.to, written.sha256}, status = part->status](
          Store& store) { return resourceReply(run(op, store), store, status); },
      [this, part](Outcome outcome) {
        if (outcome) writer_.remove(part->resource.uid);
        answer(*part, std::move(outcome));
      });
}

// It is complete. A client that did not hear of that sends its last part again.
void Uploads::compare(const PartPtr& part, const Error& refusal) {
  auto found = std::make_shared<std::optional<FindContent::Reply>>();
  gateway_.read(
      part->request,
      [part, found](Store& store) -> Outcome {
        auto content = run(FindContent{part->name, part->by}, store);
        if (!content) return tl::unexpected(content.error());
        *found = *std::move(content);
        return resourceReply((*found)->resource, store, part->status);
      },
      [this, part, found, refusal](const Outcome& outcome) {
        if (!outcome || !*found || !(*found)->is_here) {
          return answer(*part, tl::unexpected(refusal));
        }
        const Resource& resource = (*found)->resource;
        const std::string_view bytes = part->request->body();
        const std::int64_t from = part->offset.value_or(0);
        const std::int64_t to = from + static_cast<std::int64_t>(bytes.size());
        if (to != resource.size_bytes) return answer(*part, tl::unexpected(refusal));
        writer_.compare(place_.blobPath(resource.sha256), from, bytes, part->request,
                        onThisLoop<Result<bool>>([part, refusal, outcome](Result<bool> same) {
                          const bool is_same = same && *same;
                          answer(*part, is_same ? outcome : tl::unexpected(refusal));
                        }));
      });
}

// The file is shorter than the store believes: a disk has lost it. The upload begins anew.
void Uploads::beginAnew(const PartPtr& part) {
  step<BeginPart>(
      *part, {part->name, std::nullopt, 0, part->by}, Isolation::kAlone,
      [part](const Result<Resource>& begun) {
        if (!begun) return answer(*part, tl::unexpected(begun.error()));
        Error error{ErrorCode::kWrongOffset, "the file of the upload was lost: it begins anew"};
        error.members = {{"upload_offset", "0"}};
        answer(*part, tl::unexpected(std::move(error)));
      });
}

}  // namespace muster
