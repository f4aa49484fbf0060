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

  // Work on many rows is done in pieces, so that others get their turn in between. `piece` goes on
  // from where the ones before it have come to, and says how far it came: all rows have been seen
  // to when there is no place to go on from. `last` runs after the last one, in its unit.
  using Piece = std::function<Result<BulkStep>(Store&, const BulkPlace& from, std::int64_t total)>;
  using Last = std::function<Outcome(Store&, std::int64_t total)>;
  void inPieces(const RequestPtr& request, const Piece& piece, const Last& last, Respond respond,
                const BulkPlace& from = {}, std::int64_t total = 0);

  Gateway& gateway_;
  const LoadRecord& load_;
};

}  // namespace muster
