#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/blobs/part_writer.h"
#include "app/metrics/metrics.h"
#include "controllers/gateway.h"
#include "models/operations/resources.h"

namespace muster {

// A part of some content that has come with a request, and what is to become of it.
struct IncomingPart {
  RequestPtr request;
  Respond respond;
  ResourceName name;
  ResourceCaller by = {};
  std::optional<std::int64_t> offset = {};  // absent: it is the whole content
  bool is_last = false;                     // also if nobody knows how long the content is
  std::string sha256 = {};                  // hex, of the part; empty: not said
  int status = 200;                         // of the answer, if all goes well
  // While it is written:
  Resource resource = {};
  UploadFilePtr file = {};
};

// Takes parts of content: looks where the upload is, writes, tells the store. A part is locked
// against others of its upload from before the look until the store has been told. Steps run on the
// event loop of the request and on the writer's threads; nothing blocks the loop.
class Uploads {
 public:
  Uploads(Gateway& gateway, BlobPlace& place, PartWriter& writer, Metrics& metrics)
      : gateway_(gateway), place_(place), writer_(writer), metrics_(metrics) {}

  void take(IncomingPart part);

  // Runs the operation as one step of several: what it replies is not the answer to the request,
  // except where an earlier request with its Idempotency-Key was answered.
  template <class Op>
  void step(const IncomingPart& part, Op op, Isolation isolation,
            std::function<void(Result<typename Op::Reply>)> then);

 private:
  using PartPtr = std::shared_ptr<IncomingPart>;
  void open(const PartPtr& part);
  void begin(const PartPtr& part);
  void write(const PartPtr& part);
  void tell(const PartPtr& part, const PartWriter::Written& written);
  void finish(const PartPtr& part, const PartWriter::Written& written);
  void compare(const PartPtr& part, const Error& refusal);
  void beginAnew(const PartPtr& part);

  Gateway& gateway_;
  BlobPlace& place_;
  PartWriter& writer_;
  Metrics& metrics_;
};

template <class Op>
void Uploads::step(const IncomingPart& part, Op op, Isolation isolation,
                   std::function<void(Result<typename Op::Reply>)> then) {
  auto result = std::make_shared<std::optional<Result<typename Op::Reply>>>();
  gateway_.write(
      part.request,
      [op = std::move(op), result](Store& store) -> Outcome {
        *result = run(op, store);
        Reply not_yet;
        not_yet.final = false;
        return not_yet;
      },
      [result, then = std::move(then), respond = part.respond, file = part.file](Outcome outcome) {
        if (!outcome || !*result) {
          if (file) file->unlock();
          return respond(std::move(outcome));
        }
        then(std::move(**result));
      },
      isolation);
}

}  // namespace muster
