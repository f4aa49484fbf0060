#include <string>

#include "controllers/request_head.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::test {
namespace {

using HeadState = RequestHead::State;

// The head ends where it says, and no reader that stops earlier or sees less finds another.
void checkCompleteHead(std::string_view bytes, const RequestHead& head) {
  mustHold(head.text.data() == bytes.data() && head.text.size() <= bytes.size(),
           "a head is the front of the bytes");
  mustHold(head.text.find("\r\n\r\n") == head.text.size() - 4,
           "a head ends with the first empty line");
  mustHold(head.text.starts_with(head.method), "a head begins with its method");
  mustHold(!head.chunked || head.body_size == 0, "a body has one framing");
  const RequestHead again = readRequestHead(head.text);
  mustHold(again.state == HeadState::kComplete && again.text == head.text,
           "a head does not depend on what follows it");
  for (const std::size_t left_out : {std::size_t{1}, std::size_t{2}, head.text.size() / 2}) {
    const auto cut = head.text.substr(0, head.text.size() - left_out);
    mustHold(readRequestHead(cut).state == HeadState::kIncomplete,
             "the front of a head is an incomplete head");
  }
}

// What the framework is given means the same, and holds nothing that is ours to deal with.
void checkRewrittenHead(const RequestHead& head) {
  const std::string text = rewriteHead(head) + "\r\n";
  const RequestHead rewritten = readRequestHead(text);
  mustHold(rewritten.state == HeadState::kComplete && rewritten.text.size() == text.size(),
           "a rewritten head is one head");
  mustHold(passesAsItIs(rewritten), "a rewritten head needs nothing of us");
  mustHold(rewritten.body_size == head.body_size && rewritten.is_http10 == head.is_http10 &&
               rewritten.header("host") == head.header("host"),
           "a rewritten head means the same");
  if (rewritten.method != head.method && head.target.starts_with('/')) {
    std::string_view path = rewritten.path();
    mustHold(takeRenamedMethod(path) == head.method && path == head.path(),
             "a renamed method is found again");
  }
  const std::string refused = rewriteRefusedHead(head) + "\r\n";
  const RequestHead last = readRequestHead(refused);
  mustHold(last.state == HeadState::kComplete && last.text.size() == refused.size() &&
               passesAsItIs(last) && last.body_size == 0 && last.header("connection") == "close",
           "a refused request has no body and ends its connection");
}

const FuzzTarget kHttpHead("http_head", [](std::string_view bytes) {
  const RequestHead head = readRequestHead(bytes);
  mustHold((head.state == HeadState::kMalformed) == (*head.fault != '\0'),
           "a malformed head has a fault");
  if (head.state != HeadState::kComplete) return;
  checkCompleteHead(bytes, head);
  checkRewrittenHead(head);
});

}  // namespace
}  // namespace muster::test
