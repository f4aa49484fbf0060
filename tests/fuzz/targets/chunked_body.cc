#include "controllers/chunked_body.h"

#include "tests/fuzz/fuzz_target.h"

namespace muster::test {
namespace {

using BodyState = ChunkedBody::State;

// The first byte says into pieces of what size the body is cut on its way.
const FuzzTarget kChunkedBody("chunked_body", [](std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t piece = 1U + static_cast<unsigned char>(bytes.front()) % 16U;
  bytes.remove_prefix(1);

  ChunkedBody whole;
  std::string_view behind = bytes;
  const BodyState state = whole.read(behind);
  mustHold(whole.data().size() <= bytes.size() - behind.size(), "no more is held than was given");
  mustHold(whole.expected() >= whole.data().size(), "what has come was expected");
  mustHold((state == BodyState::kMalformed) == (*whole.fault() != '\0'),
           "a malformed body has a fault");
  mustHold(state != BodyState::kIncomplete || behind.empty(), "an incomplete body takes all");

  ChunkedBody cut;
  std::size_t taken = 0;
  BodyState cut_state = BodyState::kIncomplete;
  while (cut_state == BodyState::kIncomplete && taken < bytes.size()) {
    const std::string_view part = bytes.substr(taken, piece);
    std::string_view left = part;
    cut_state = cut.read(left);
    taken += part.size() - left.size();
  }
  mustHold(cut_state == state && taken == bytes.size() - behind.size() &&
               cut.data() == whole.data() && cut.expected() == whole.expected(),
           "a body does not depend on how it is cut");
});

}  // namespace
}  // namespace muster::test
