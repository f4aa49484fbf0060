#pragma once

#include "app/metrics/load_record.h"
#include "controllers/gateway.h"
#include "controllers/router.h"

namespace muster {

class PoolController {
 public:
  PoolController(Gateway& gateway, const LoadRecord& load) : gateway_(gateway), load_(load) {}
  void addRoutes(Router& router);

 private:
  Result<Work> list(const Request& request);
  Result<Work> get(const Request& request);
  Result<Work> put(const Request& request);
  Result<Work> patch(const Request& request);
  Result<Work> pause(const Request& request, bool paused);
  Result<Work> stats(const Request& request);
  Result<Work> timeline(const Request& request);
  void retry(const RequestPtr& request, Respond respond);
  void purge(const RequestPtr& request, Respond respond);
  void remove(const RequestPtr& request, Respond respond);

  // Work on many rows is done in pieces, so that others get their turn in between. `piece` does
  // up to kPiece rows and says how many there were; `last` runs after the last one, in its unit.
  using Piece = std::function<Result<std::int64_t>(Store&)>;
  using Last = std::function<Outcome(Store&, std::int64_t total)>;
  void inPieces(const RequestPtr& request, const Piece& piece, const Last& last, Respond respond,
                std::int64_t total = 0);

  Gateway& gateway_;
  const LoadRecord& load_;
};

}  // namespace muster
