#pragma once

#include "controllers/reply.h"
#include "models/store/store.h"

namespace muster {

// What is kept of an answer under an Idempotency-Key: all of it up to 64 KiB. Of a larger one only
// which jobs it showed, and of which flow; nothing if it showed something else.
StoredAnswer keptAnswer(const Reply& reply);

// The answer to a repeated request: the first one. One that was too large is written again, with
// the jobs as they are now; of a claim, those whose lease it still is. kAnswerNotKept when that
// cannot be done.
Outcome replayedAnswer(Store& store, const StoredAnswer& kept);

}  // namespace muster
