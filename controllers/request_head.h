#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

// The head of an HTTP/1 request at the front of the bytes that a connection has received.
struct RequestHead {
  enum class State {
    kIncomplete,  // more bytes are needed
    kComplete,    // all members are set
    kMalformed,   // `fault` says why; the other members mean nothing
  };
  State state = State::kIncomplete;
  const char* fault = "";
  std::string_view text = {};  // the whole head, with the empty line at its end
  std::string_view method = {};
  std::string_view target = {};  // path and query, as sent
  std::size_t body_size = 0;     // bytes of the body, by Content-Length
  bool is_http10 = false;
  bool chunked = false;           // the body comes in chunks, and has no Content-Length
  bool expects_continue = false;  // the client waits for "100 Continue"
  bool asks_upgrade = false;

  // The value of the first header of that name; empty if there is none.
  std::string_view header(std::string_view lower_case_name) const;
  std::string_view path() const;
};

// Reads the head at the front of `bytes`. Strict: a head that two readers could understand in two
// ways is malformed. Such are a line that does not end with CR LF, a NUL, a folded line, white
// space before a colon, an HTTP/1.1 request without exactly one Host, and a body whose end is not
// given by one Content-Length or by "Transfer-Encoding: chunked".
RequestHead readRequestHead(std::string_view bytes);

// Whether the framework takes the head as it is: it knows the method, and no header is left to us.
bool passesAsItIs(const RequestHead& head);

// The head for the framework, without the empty line at its end. A method that the framework does
// not know becomes OPTIONS and stands in front of the path: "TRACE /healthz" becomes
// "OPTIONS /~method/TRACE/healthz". Headers that we have dealt with are left out: Expect, Upgrade
// and Transfer-Encoding.
std::string rewriteHead(const RequestHead& head);
// The same for a request whose body is not read: it has none, and its connection ends with it.
std::string rewriteRefusedHead(const RequestHead& head);

// Undoes the renaming: takes the method off the front of `path`. Empty if the path names none.
std::string_view takeRenamedMethod(std::string_view& path);

}  // namespace muster
